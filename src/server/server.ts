import { Calls, countUp } from '../rpc/calls.ts'
import type { Channel } from '../rpc/channel.ts'
import { Lanes } from '../rpc/lanes.ts'
import type { Dialect } from './dialect.ts'
import { Dispatch } from './dispatch.ts'
import { Hub, type HubOptions } from './hub.ts'
import { type Reply, type Request, Session } from './session.ts'

export type ServerOptions = Omit<HubOptions, 'calls'> & {
  /** Hears of frames that could not be encoded. */
  readonly report: (error: unknown, method: string | null) => void
}

/** Every connection of the process, of any transport and dialect, around one hub. */
export class Server {
  readonly hub: Hub
  readonly #report: ServerOptions['report']
  readonly #calls = new Calls<Session>(countUp())
  readonly #lanes = new Lanes()
  readonly #sessions = new Map<Session, Dispatch>()

  constructor(options: ServerOptions) {
    this.#report = options.report
    this.hub = new Hub({ ...options, calls: this.#calls })
  }

  get connections(): number {
    return this.#sessions.size
  }

  /**
   * Takes over a connection that a transport has made. `ended` is called when the peer stops sending, and again when it is
   * gone; by default an end of input ends the connection.
   */
  accept(channel: Channel, dialect: Dialect, ended?: () => void): Session {
    const session = new Session(channel, dialect, {
      request: (from, request) => this.#request(from, request),
      report: this.#report,
      reply: (from, reply) => this.#reply(from, reply),
      ended: from => (ended ? ended() : from.close(1000, '')),
      closed: from => {
        this.#sessions.delete(from)
        this.hub.leave(from)
        ended?.()
      },
    })
    this.#sessions.set(session, new Dispatch(session, this.#lanes))
    session.open()
    return session
  }

  /** Stops reading everywhere; requests already taken in are still answered. */
  deafen(): void {
    for (const session of this.#sessions.keys()) session.deafen()
  }

  /** Resolves when no accepted request is unanswered, or after `ms`. */
  async answered(ms: number): Promise<void> {
    const end = Date.now() + ms
    while (Date.now() < end && [...this.#sessions.keys()].some(s => s.inFlight > 0)) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }

  /** Resolves when every connection has ended, or after `ms`. */
  async gone(ms: number): Promise<void> {
    const end = Date.now() + ms
    while (Date.now() < end && this.#sessions.size > 0) await new Promise(resolve => setTimeout(resolve, 5))
  }

  /** Ends every connection after what is queued for it. */
  close(code: number, reason: string): void {
    for (const session of this.#sessions.keys()) session.close(code, reason)
  }

  #request(session: Session, request: Request): void {
    this.#sessions.get(session)?.push(request)
  }

  #reply(session: Session, reply: Reply): void {
    // A reply counts only from an initialized connection that was sent that request.
    if (!session.initialized) return
    this.#calls.reply(session, reply)
  }
}
