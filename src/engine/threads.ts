import type { Clock } from '../base/clock.ts'
import { isUuid, newId } from '../base/ids.ts'
import type { JsonObject } from '../base/json.ts'
import { EngineError } from './errors.ts'
import type { GitInfo, ThreadSettings, ThreadView } from './events.ts'
import { LOG_VERSION } from './store/records.ts'
import type { StoredThread } from './store/store.ts'
import { Thread, type ThreadServices, viewOf } from './thread.ts'
import type { ClientTool } from './tools/client-tool-specs.ts'

export interface StartThread {
  readonly settings: ThreadSettings
  readonly config: JsonObject
  readonly ephemeral: boolean
  readonly clientTools: readonly ClientTool[]
  readonly threadSource: string | null
  readonly originator: string | null
  readonly cliVersion: string
  readonly gitInfo: GitInfo | null
  /** Milliseconds. */
  readonly createdAt: number
}

export interface ThreadsOptions {
  readonly services: Omit<ThreadServices, 'rested'>
  readonly now: Clock
  /** Milliseconds an idle thread without subscribers stays loaded. */
  readonly unloadMs: number
  readonly attended: (threadId: string) => boolean
}

/** All threads of the process: those in memory, and behind them the ones on disk. */
export class Threads {
  readonly #options: ThreadsOptions
  readonly #services: ThreadServices
  readonly #loaded = new Map<string, Thread>()
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(options: ThreadsOptions) {
    this.#options = options
    this.#services = { ...options.services, rested: thread => this.rest(thread.id) }
  }

  start(params: StartThread): Thread {
    const id = newId()
    const header = {
      t: 'thread' as const,
      v: LOG_VERSION,
      id,
      sessionId: id,
      forkedFrom: null,
      createdAt: params.createdAt,
      source: 'vscode',
      threadSource: params.threadSource,
      originator: params.originator,
      cliVersion: params.cliVersion,
      gitInfo: params.gitInfo,
      settings: params.settings,
      config: params.config,
    }
    return this.#add(
      new Thread({ header, ephemeral: params.ephemeral, clientTools: params.clientTools }, this.#services),
    )
  }

  /** The thread in memory, or undefined. */
  loaded(id: string): Thread | undefined {
    return this.#loaded.get(id.toLowerCase())
  }

  get allLoaded(): readonly Thread[] {
    return [...this.#loaded.values()]
  }

  /** The thread in memory, for requests that need it there. */
  require(id: string): Thread {
    checkId(id)
    const thread = this.loaded(id)
    if (!thread) throw new EngineError('threadNotFound', `thread not found: ${id}`, { threadId: id })
    return thread
  }

  /** Brings a thread into memory. Synchronous, so that two callers never load it twice. */
  load(id: string): Thread {
    checkId(id)
    const thread = this.loaded(id)
    if (thread) {
      if (!thread.materialized || thread.ephemeral) throw noLog(id)
      return thread
    }
    const opened = this.#services.store.open(id)
    if (!opened) throw noLog(id)
    const { header, history, path } = opened.thread
    const origin = { header, ephemeral: false, clientTools: [], stored: { log: opened.log, history, path } }
    return this.#add(new Thread(origin, this.#services))
  }

  /** A thread on disk that is not in memory. */
  stored(id: string): StoredThread | null {
    checkId(id)
    return this.#services.store.read(id)
  }

  /** The id of the thread whose log is at `path`. */
  idOfPath(path: string): string {
    const stored = this.#services.store.readPath(path)
    if (!stored) throw new EngineError('logNotFound', `no rollout found at ${path}`)
    return stored.header.id
  }

  /** Names a thread that is not in memory, without loading it. */
  renameStored(id: string, name: string): void {
    const opened = this.#services.store.open(id)
    if (!opened) throw noLog(id)
    opened.log.append({ t: 'name', name })
    void opened.log.close()
    this.#services.emit({ type: 'thread.named', threadId: id, name })
  }

  /** Every thread a list may show: saved ones, with what is known right now about those in memory. */
  *views(): Generator<ThreadView> {
    for (const stored of this.#services.store.list()) {
      const thread = this.loaded(stored.header.id)
      yield thread ? thread.view() : storedView(stored)
    }
  }

  /** Looks whether a thread may leave memory: at once when it is ephemeral, else after a while. */
  rest(id: string): void {
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    const thread = this.loaded(id)
    if (!thread || thread.busy || this.#options.attended(id)) return
    if (thread.ephemeral) return void this.unload(id)
    const timer = setTimeout(() => void this.unload(id), this.#options.unloadMs)
    timer.unref()
    this.#timers.set(id, timer)
  }

  async unload(id: string): Promise<void> {
    const thread = this.loaded(id)
    if (!thread || thread.busy) return
    this.#loaded.delete(id)
    clearTimeout(this.#timers.get(id))
    this.#timers.delete(id)
    const { emit } = this.#services
    emit({ type: 'thread.status', threadId: id, status: { type: 'notLoaded' } })
    emit({ type: 'thread.closed', threadId: id })
    await thread.close()
  }

  /** Interrupts all turns and closes all logs; resolves when every turn has its durable end, or after `ms`. */
  async stop(ms: number): Promise<void> {
    const threads = this.allLoaded
    for (const thread of threads) thread.stop()
    const end = Date.now() + ms
    while (threads.some(t => t.busy) && Date.now() < end) await new Promise(resolve => setTimeout(resolve, 5))
    await Promise.all(threads.map(t => t.close()))
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  #add(thread: Thread): Thread {
    this.#loaded.set(thread.id.toLowerCase(), thread)
    return thread
  }
}

/** A saved thread as lists show it. */
export function storedView({ history, header, path }: StoredThread): ThreadView {
  return viewOf(history, header, {
    status: { type: 'notLoaded' },
    path,
    ephemeral: false,
    settings: history.settings ?? header.settings,
    updatedAt: history.updatedAt,
  })
}

function checkId(id: string): void {
  if (!isUuid(id)) throw new EngineError('threadIdInvalid', id)
}

const noLog = (id: string): EngineError =>
  new EngineError('logNotFound', `no rollout found for thread id ${id}`, { threadId: id })
