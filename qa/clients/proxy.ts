import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { isObject } from '../../src/base/json.ts'
import type { Link, Tap } from '../kit/link.ts'
import type { Rules } from './rules.ts'
import { fromClient, fromServer } from './rules.ts'

/** One message that went through, with the name of the rule that changed or stopped it. */
export interface Passed {
  readonly connection: number
  readonly way: 'out' | 'in'
  readonly frame: unknown
  readonly rule: string | null
  /** Method of the request a response answers. */
  readonly answers: string | null
}

/** What a proxy stands before. */
export interface ProxyOptions {
  /** Opens one connection to the server, with the headers of the client's upgrade. */
  connect(headers: IncomingMessage['headers']): Promise<Link>
  /** Makes a tap for each connection; it sees the server's own frames, before any rule. */
  tap?(): Tap
}

/**
 * A WebSocket server on loopback between a real client and the server under test. It keeps a log of what passes and can spoil
 * it by rules, which may be changed while it runs.
 */
export class WireProxy {
  readonly log: Passed[] = []
  /** Applied to every message from now on. */
  rules: Rules = {}
  readonly #http: HttpServer
  readonly #sockets: WebSocketServer
  readonly #options: ProxyOptions
  #connections = 0

  private constructor(options: ProxyOptions) {
    this.#options = options
    this.#http = createServer((_request, response) => response.end('ok\n'))
    this.#sockets = new WebSocketServer({ server: this.#http, perMessageDeflate: false, maxPayload: 1 << 28 })
    this.#sockets.on('connection', (socket, request) => this.#join(socket, request))
  }

  /** Listens on a free port, or on a unix socket at `path`. */
  static async start(options: ProxyOptions, path?: string): Promise<WireProxy> {
    const proxy = new WireProxy(options)
    await new Promise<void>((resolve, reject) => {
      proxy.#http.once('error', reject)
      if (path === undefined) proxy.#http.listen(0, '127.0.0.1', resolve)
      else proxy.#http.listen(path, resolve)
    })
    return proxy
  }

  /** Address for the client under test. */
  get url(): string {
    const address = this.#http.address() as AddressInfo | string
    return typeof address === 'string' ? `unix://${address}` : `ws://127.0.0.1:${address.port}`
  }

  /** How many connections it has carried. */
  get connections(): number {
    return this.#connections
  }

  /** Methods of the requests clients sent since the log's entry `from`. */
  requests(from = 0): readonly string[] {
    return this.log.slice(from).flatMap(({ way, frame }) => {
      return way === 'out' && isObject(frame) && 'id' in frame && typeof frame.method === 'string' ? [frame.method] : []
    })
  }

  /** Closes every client with `code`, as a server that goes away would. */
  closeAll(code: number): void {
    for (const socket of this.#sockets.clients) socket.close(code)
  }

  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
    this.#http.closeAllConnections()
    this.#http.close()
  }

  #join(socket: WebSocket, request: IncomingMessage): void {
    this.#connections += 1
    const connection = new Connection(this, socket, this.#connections)
    socket.on('message', (data, binary) => {
      if (!binary) connection.clientSaid(data.toString())
    })
    this.#options.connect(request.headers).then(
      link => connection.joined(link, this.#options.tap?.() ?? null),
      error => socket.close(1008, String(error).slice(0, 100)),
    )
  }
}

/** One client and its own connection to the server. */
class Connection {
  readonly #proxy: WireProxy
  readonly #socket: WebSocket
  readonly #number: number
  readonly #waiting: string[] = []
  readonly #asked = new Map<string, string>()
  #link: Link | null = null
  #tap: Tap | null = null

  constructor(proxy: WireProxy, socket: WebSocket, number: number) {
    this.#proxy = proxy
    this.#socket = socket
    this.#number = number
  }

  joined(link: Link, tap: Tap | null): void {
    this.#link = link
    this.#tap = tap
    link.open({
      message: text => this.#serverSaid(text),
      closed: () => this.#socket.close(1000),
    })
    this.#socket.on('close', () => link.end())
    for (const text of this.#waiting.splice(0)) this.#toServer(text)
  }

  clientSaid(text: string): void {
    const frame = parse(text)
    const verdict = fromClient(frame, this.#proxy.rules)
    this.#note('out', frame, verdict.rule, null)
    if (verdict.reply !== undefined) this.#toClient(verdict.reply)
    if (!verdict.pass) return
    if (isObject(frame) && typeof frame.method === 'string') this.#asked.set(JSON.stringify(frame.id), frame.method)
    if (this.#link) this.#toServer(text)
    else this.#waiting.push(text)
  }

  #toServer(text: string): void {
    this.#tap?.('out', text)
    this.#link?.send(text)
  }

  #serverSaid(text: string): void {
    this.#tap?.('in', text)
    const frame = parse(text)
    const isAnswer = isObject(frame) && frame.method === undefined
    const answers = isAnswer ? (this.#asked.get(JSON.stringify(frame.id)) ?? null) : null
    const verdict = fromServer(frame, answers, this.#proxy.rules)
    this.#note('in', frame, verdict.rule, answers)
    if (!verdict.pass) return
    const out = verdict.frame === frame ? text : JSON.stringify(verdict.frame)
    if (verdict.delayMs > 0) setTimeout(() => this.#send(out), verdict.delayMs)
    else this.#send(out)
    for (const extra of verdict.extra) this.#toClient(extra)
  }

  #toClient(frame: unknown): void {
    this.#send(JSON.stringify(frame))
  }

  #send(text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text)
  }

  #note(way: 'out' | 'in', frame: unknown, rule: string | null, answers: string | null): void {
    this.#proxy.log.push({ connection: this.#number, way, frame, rule, answers })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { 'not JSON': text }
  }
}
