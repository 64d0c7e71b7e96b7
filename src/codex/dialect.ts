import type { EngineEvent } from '../engine/events.ts'
import { INTERNAL_ERROR, RpcError } from '../rpc/error.ts'
import { notificationFrame } from '../rpc/message.ts'
import type { Admitted, CallIds, Dialect, Outgoing } from '../server/dialect.ts'
import type { Session } from '../server/session.ts'
import { claimedVersion, type Handshake, type Identity, initializeResult, readHandshake } from './handshake.ts'

/** Both handshake refusals have this number, as the app-server reference states. */
const HANDSHAKE_REFUSED = -32000

/** What is behind the handshake: the method table, the projector, the error table. */
export interface Rows {
  admit(request: { readonly method: string; readonly params: unknown }, session: Session): Admitted
  project(event: EngineEvent, calls: CallIds): Outgoing | undefined
  failure(error: unknown): RpcError
  /** Runs right behind the answer to `initialize`. */
  welcome(session: Session): void
}

export interface CodexOptions {
  /** Who the server says it is. A promise only where the configuration must be read for it. */
  readonly identity: () => Identity | Promise<Identity>
  /** Loads the engine, the rows and the validators. Begun when the first client has its answer: none of it delays a handshake. */
  readonly load: () => Promise<Rows>
  /** Adds a connection that has finished its handshake. */
  readonly join: (session: Session) => void
}

/** The Codex app-server protocol. Only the handshake is here; everything else is loaded behind it. */
export class CodexDialect implements Dialect {
  readonly name = 'codex'
  readonly #options: CodexOptions
  #rows: Rows | null = null
  #loading: Promise<Rows> | null = null
  /** Codex names itself after the first client of a process. */
  #originator: string | null = null

  constructor(options: CodexOptions) {
    this.#options = options
  }

  admit(
    request: { readonly method: string; readonly params: unknown },
    session: Session,
  ): Admitted | Promise<Admitted> {
    if (request.method === 'initialize') return this.#handshake(request.params, session)
    if (!session.initialized) throw new RpcError(HANDSHAKE_REFUSED, 'Not initialized')
    const rows = this.#rows
    return rows ? rows.admit(request, session) : this.#load().then(loaded => loaded.admit(request, session))
  }

  /** `initialized` is optional in practice and nothing else is known: all are ignored. */
  notice(): void {}

  project(event: EngineEvent, calls: CallIds): Outgoing | undefined {
    return this.#rows?.project(event, calls)
  }

  failure(error: unknown): RpcError {
    if (error instanceof RpcError) return error
    if (this.#rows) return this.#rows.failure(error)
    return new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : String(error))
  }

  oversized(bytes: number): ReturnType<typeof notificationFrame> {
    const message = `A message of ${bytes} bytes was dropped: it is larger than this server accepts.`
    return notificationFrame('warning', { threadId: null, message })
  }

  #handshake(params: unknown, session: Session): Admitted | Promise<Admitted> {
    if (session.initialized) throw new RpcError(HANDSHAKE_REFUSED, 'Already initialized')
    const shake = readHandshake(params)
    const identity = this.#options.identity()
    const admitted = (who: Identity): Admitted => this.#admitted(shake, session, who)
    return identity instanceof Promise ? identity.then(admitted) : admitted(identity)
  }

  #admitted(shake: Handshake, session: Session, identity: Identity): Admitted {
    return {
      lane: null,
      handle: ({ afterReply }) => {
        // Two pipelined handshakes are both admitted before either runs.
        if (session.initialized) throw new RpcError(HANDSHAKE_REFUSED, 'Already initialized')
        session.client = shake.client
        session.experimental = shake.experimental
        session.optOut = new Set(shake.optOut)
        session.claimedVersion = claimedVersion(shake.client, identity.codexVersion)
        this.#originator ??= shake.client.name
        this.#options.join(session)
        afterReply(() => this.#welcome(session))
        return initializeResult(session, this.#originator, identity)
      },
    }
  }

  #welcome(session: Session): void {
    if (this.#rows) {
      this.#rows.welcome(session)
      return
    }
    // A failure to load is told to every request that needs what was to be loaded.
    void this.#load().then(
      rows => rows.welcome(session),
      () => {},
    )
  }

  #load(): Promise<Rows> {
    this.#loading ??= this.#options.load().then(rows => {
      this.#rows = rows
      return rows
    })
    return this.#loading
  }
}
