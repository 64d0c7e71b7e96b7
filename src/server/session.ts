import type { Reply } from '../rpc/calls.ts'
import type { Channel } from '../rpc/channel.ts'
import { INVALID_REQUEST } from '../rpc/error.ts'
import type { Frame } from '../rpc/frame.ts'
import { errorFrame, type Incoming, readMessage } from '../rpc/message.ts'
import { Outbox } from '../rpc/outbox.ts'
import type { Dialect } from './dialect.ts'

/** Requests one connection may have under way before we stop reading it. Overload makes us slower, never lossy. */
const MAX_IN_FLIGHT = 256

export interface ClientInfo {
  readonly name: string
  readonly title: string | null
  readonly version: string
}

export type Request = Extract<Incoming, { kind: 'request' }>
export type { Reply }

/** What a session asks of the server around it. */
export interface SessionHost {
  request(session: Session, request: Request): void
  reply(session: Session, reply: Reply): void
  /** A frame that could not be encoded was left out: a bug of ours. */
  report(error: unknown, method: string | null): void
  /** The peer sends no more but still reads. */
  ended(session: Session): void
  closed(session: Session): void
}

/** One connection: its handshake state, what it reads, what it is sent. */
export class Session {
  readonly dialect: Dialect
  readonly transport: Channel['transport']
  /** Set by the dialect's handshake; until then every request but the handshake is refused. */
  client: ClientInfo | null = null
  /** Whether the client asked for experimental methods and notifications. */
  experimental = false
  /** Codex version this connection hears us claim. */
  claimedVersion = ''
  closed = false
  readonly #channel: Channel
  readonly #outbox: Outbox
  readonly #host: SessionHost
  #inFlight = 0
  #paused = false
  #deaf = false

  constructor(channel: Channel, dialect: Dialect, host: SessionHost) {
    this.dialect = dialect
    this.transport = channel.transport
    this.#channel = channel
    this.#host = host
    this.#outbox = new Outbox(channel, { report: (error, method) => host.report(error, method) })
  }

  get initialized(): boolean {
    return this.client !== null
  }

  /** Notification methods this client does not want. Requests and responses are never suppressed. */
  set optOut(methods: ReadonlySet<string>) {
    this.#outbox.optOut = methods
  }

  /** Whether this client hears notifications with this method. */
  wants(method: string | null): boolean {
    return this.#outbox.wants(method)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Starts reading. */
  open(): void {
    this.#channel.open({
      message: text => this.#message(text),
      oversized: bytes => {
        const frame = this.dialect.oversized(bytes)
        if (frame && this.initialized) this.post(frame)
      },
      drain: () => {
        this.#outbox.drain()
        this.#breathe()
      },
      ended: () => this.#host.ended(this),
      closed: () => {
        if (this.closed) return
        this.closed = true
        this.#outbox.discard()
        this.#host.closed(this)
      },
    })
  }

  post(frame: Frame): void {
    if (!this.closed) this.#outbox.post(frame)
  }

  /** Marks one request as answered. */
  settled(): void {
    this.#inFlight--
    this.#breathe()
  }

  /** Takes no more input: how a shutdown begins. */
  deafen(): void {
    this.#deaf = true
    this.#channel.pause()
  }

  /** Sends what is queued and ends the connection. */
  close(code: number, reason: string): void {
    this.#outbox.close(code, reason)
  }

  #message(text: string): void {
    if (this.#deaf) return
    const message = readMessage(text)
    switch (message.kind) {
      case 'request':
        this.#inFlight++
        this.#breathe()
        return this.#host.request(this, message)
      case 'notification':
        return this.dialect.notice(message.method, message.params, this)
      case 'result':
      case 'failure':
        return this.#host.reply(this, message)
      case 'invalid':
        return this.post(errorFrame(message.id, { code: message.code ?? INVALID_REQUEST, message: message.message }))
      case 'blank':
        return
      default:
        message satisfies never
    }
  }

  /** Stops reading while too much is under way or unread, and starts again when it is not. */
  #breathe(): void {
    const full = this.#inFlight >= MAX_IN_FLIGHT || this.#outbox.busy
    if (full === this.#paused || this.closed || this.#deaf) return
    this.#paused = full
    if (full) this.#channel.pause()
    else this.#channel.resume()
  }
}
