import type { ChildProcess } from 'node:child_process'
import { createWriteStream, existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Exit, exitOf, kill, sleep, start, within } from './child.ts'
import type { Link } from './link.ts'
import { environment, type Place } from './place.ts'
import { stdioLink } from './stdio-link.ts'
import { openWs, type WsAddress, type WsLink } from './ws-link.ts'

/** How the server under test is started: a command that ends in `app-server`, without `--listen`. */
export type ServerCommand = readonly string[]

/** Whether the server under test is the real codex: then a judge is being judged. */
export const isCodex = (command: ServerCommand): boolean => command.some(word => /(^|\/)codex[^/]*$/.test(word))

/** What a server is started with beside its command. */
export interface ServerStart {
  readonly command: ServerCommand
  readonly place: Place
  /** Arguments after the command. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const READY_MS = 15_000

/** One server process of a run, with its standard error in `server.stderr` of its place. */
export class Server {
  readonly child: ChildProcess
  readonly exited: Promise<Exit>
  /** Where it listens; null on stdio. */
  readonly address: WsAddress | null
  readonly #stderr: string

  private constructor(child: ChildProcess, address: WsAddress | null, stderr: string) {
    this.child = child
    this.exited = exitOf(child)
    this.address = address
    this.#stderr = stderr
  }

  /** A server on its standard streams; the link is open as soon as the process is. */
  static stdio(options: ServerStart): Server {
    return new Server(launch(options, []), null, stderrPath(options.place))
  }

  /** A server on a free loopback port, once it says it is ready. Without a token unless `auth` asks for one. */
  static async ws(options: ServerStart, auth: readonly string[] = []): Promise<Server> {
    const port = await freePort()
    const child = launch(options, ['--listen', `ws://127.0.0.1:${port}`, ...auth])
    const server = new Server(child, { url: `ws://127.0.0.1:${port}/` }, stderrPath(options.place))
    child.stdout?.resume()
    await server.#until(async () => (await get(port, '/readyz')) !== null)
    return server
  }

  /** A server on a unix socket, once the socket is there. */
  static async unix(options: ServerStart, socketPath = join(options.place.dir, 's', 'app.sock')): Promise<Server> {
    const child = launch(options, ['--listen', `unix://${socketPath}`])
    const server = new Server(child, { url: 'ws://localhost/rpc', socketPath }, stderrPath(options.place))
    child.stdout?.resume()
    await server.#until(async () => existsSync(socketPath))
    return server
  }

  /** A connection to it. On stdio there is only one. */
  async connect(more: Partial<WsAddress> = {}): Promise<Link> {
    return this.address === null ? stdioLink(this.child) : this.connectWs(more)
  }

  async connectWs(more: Partial<WsAddress> = {}): Promise<WsLink> {
    if (this.address === null) throw new Error('this server listens on no socket')
    return openWs({ ...this.address, ...more })
  }

  /** The port of a ws listener. */
  get port(): number {
    return Number(new URL(this.address?.url ?? 'ws://none:0').port)
  }

  /** The last lines it wrote to standard error, for a failure's report. */
  get lastWords(): string {
    const text = existsSync(this.#stderr) ? readFileSync(this.#stderr, 'utf8') : ''
    return text.trimEnd().split('\n').slice(-8).join('\n')
  }

  /** Ends it: end of stdin and SIGTERM first, SIGKILL for its whole group after `graceMs`. */
  async stop(graceMs = 10_000): Promise<Exit> {
    this.child.stdin?.end()
    kill(this.child, 'SIGTERM')
    const exit = await within(graceMs, this.exited, null)
    kill(this.child)
    return exit ?? this.exited
  }

  async #until(ready: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + READY_MS
    while (Date.now() < end) {
      if (await ready()) return
      const gone = await within(25, this.exited, null)
      if (gone) throw new Error(`the server ended with ${gone.signal ?? gone.code}: ${this.lastWords}`)
    }
    kill(this.child)
    throw new Error(`the server was not ready after ${READY_MS} ms: ${this.lastWords}`)
  }
}

function launch(options: ServerStart, listen: readonly string[]): ChildProcess {
  const { command, place, args = [], env = {} } = options
  const child = start([...command, ...listen, ...args], {
    cwd: place.cwd,
    env: environment(place, env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stderr?.pipe(createWriteStream(stderrPath(place), { flags: 'a' }))
  child.stdin?.on('error', () => {})
  return child
}

const stderrPath = (place: Place): string => join(place.dir, 'server.stderr')

/** A loopback port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/** The status of a GET, or null when nobody answers. */
export function get(port: number, path: string): Promise<number | null> {
  return new Promise(resolve => {
    const call = request({ host: '127.0.0.1', port, path, agent: false }, response => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? null))
    })
    call.on('error', () => resolve(null))
    call.setTimeout(1000, () => call.destroy())
    call.end()
  })
}

/** Polls `test` until it is true; false after `ms` milliseconds. */
export async function eventually(ms: number, test: () => boolean): Promise<boolean> {
  const end = Date.now() + ms
  while (!test()) {
    if (Date.now() > end) return false
    await sleep(20)
  }
  return true
}
