import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { CodexDialect } from '../codex/dialect.ts'
import type { Identity } from '../codex/handshake.ts'
import type { Engine } from '../engine/engine.ts'
import type { Channel } from '../rpc/channel.ts'
import { Server } from '../server/server.ts'
import type { Address } from '../transport/address.ts'
import { type Listener, listen } from '../transport/listen.ts'

export interface AppServerOptions {
  readonly home: string
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly log: Logger
  /** `key=value` arguments of `-c`, in order. */
  readonly flags: readonly string[]
  readonly profile: string | null
  /** The user's own; the server's is stricter. */
  readonly umask: number
}

/** Turns still running when the server goes down get this long to reach their durable end. */
const TURNS_MS = 8000
/** Requests already accepted get this long to be answered. */
const ANSWERS_MS = 1000
/** After this the server counts as stopped, whatever is left. */
const HARD_MS = 9500

/** WebSocket close code "service restart": clients reconnect. */
const RESTART = 1012

/** One server process: the composition root of everything behind a listener. */
export class AppServer {
  readonly #options: AppServerOptions
  readonly #server: Server
  readonly #codex: CodexDialect
  readonly #listeners: Listener[] = []
  #engine: Engine | null = null
  #stopping: Promise<void> | null = null

  constructor(options: AppServerOptions) {
    this.#options = options
    this.#server = new Server({
      attendance: (threadId, attended) => this.#engine?.attend(threadId, attended),
      report: (error, method) =>
        options.log.error(`${method ?? 'a response'} could not be encoded`, { error: String(error) }),
      answer: (approvalId, decision) => this.#engine?.desk.answer(approvalId, decision),
    })
    this.#codex = new CodexDialect({
      identity: () => this.#identity(),
      join: session => this.#server.hub.join(session),
      load: () => this.#load(),
    })
  }

  /** Takes over one connection. `ended`: see `Server.accept`. */
  accept(channel: Channel, ended?: () => void): void {
    this.#server.accept(channel, this.#codex, ended)
  }

  /** Opens a listener. Rejects with the reason when it cannot. `ended`: the one client of a stdio listener has gone. */
  async listen(address: Address, wsAuth: string | null, ended: () => void): Promise<Listener> {
    const { home, log } = this.#options
    const stdio = address.kind === 'stdio'
    const listener = await listen(
      address,
      { home, ...(wsAuth === null ? {} : { wsAuth }), report: error => log.warn(error.message) },
      // On stdio the connection is the server.
      channel => this.accept(channel, stdio ? ended : undefined),
    )
    this.#listeners.push(listener)
    return listener
  }

  /** Loads the engine now instead of with the first client. Throws `EngineError` for flags that are wrong. */
  async warm(): Promise<Engine> {
    await this.#load()
    return this.#engine!
  }

  /** Stops reading, interrupts turns, answers what was accepted, closes. Resolves within ten seconds. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const hard = new Promise<void>(resolve => {
      timer = setTimeout(resolve, HARD_MS)
    })
    await Promise.race([this.#windDown(), hard])
    clearTimeout(timer)
  }

  /** The orderly end, however long it takes. */
  async #windDown(): Promise<void> {
    for (const listener of this.#listeners) listener.drain()
    this.#server.deafen()
    // Loading that has begun finishes first: requests that wait for it still get their answers.
    await this.#server.answered(ANSWERS_MS)
    await this.#engine?.stop(TURNS_MS)
    await this.#server.answered(ANSWERS_MS)
    this.#server.close(RESTART, 'server is shutting down')
    for (const listener of this.#listeners) listener.close()
    await this.#server.gone(ANSWERS_MS)
  }

  /** Only a configuration that mentions the key at all is worth the time of reading it before the first answer. */
  #identity(): Identity | Promise<Identity> {
    const { home, env, flags } = this.#options
    const identity = { home, env, codexVersion: env.SKEIN_CODEX_VERSION || 'auto' }
    const path = join(home, 'config.toml')
    const mentioned = (text: string): boolean => text.includes('codex_version')
    if (!flags.some(mentioned) && !(existsSync(path) && mentioned(readFileSync(path, 'utf8')))) return identity
    return this.warm().then(engine => ({ ...identity, codexVersion: engine.settings.server().codexVersion }))
  }

  async #load(): ReturnType<CodexLoad> {
    const { home, cwd, env, log, flags, profile, umask } = this.#options
    const [{ Engine }, { createRows }, { loadSettings }, { BUILT_IN_PROVIDERS }] = await Promise.all([
      import('../engine/engine.ts'),
      import('../codex/rows.ts'),
      import('../engine/settings/settings.ts'),
      import('../engine/models/models.ts'),
    ])
    const { hub } = this.#server
    const settings = loadSettings({ home, cwd, env, flags, profile, providers: BUILT_IN_PROVIDERS })
    const emit: Engine['emit'] = event => hub.publish(event)
    this.#engine ??= new Engine({ home, cwd, env, now: systemClock, settings, log, emit, umask })
    return createRows({ engine: this.#engine, hub, home, log })
  }
}

type CodexLoad = ConstructorParameters<typeof CodexDialect>[0]['load']
