import type { Clock } from '../base/clock.ts'
import { isUuid, newId } from '../base/ids.ts'
import type { JsonObject } from '../base/json.ts'
import { EngineError } from './errors.ts'
import type { GitInfo, ReadState, ThreadSettings, ThreadView } from './events.ts'
import { copyOf, type ForkPoint } from './fork.ts'
import { readGitInfo } from './git-info.ts'
import { History } from './history.ts'
import { type Entry, type Header, LOG_VERSION } from './store/records.ts'
import type { StoredThread } from './store/store.ts'
import { type Note, Thread, type ThreadServices } from './thread.ts'
import { viewOf } from './thread-view.ts'
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

/** A new thread with the past of another one. */
export interface ForkThread extends StartThread, ForkPoint {
  readonly sourceId: string
}

/** Milliseconds that a turn has to end in when its thread is put away. */
const STOP_MS = 10_000

export interface ThreadsOptions {
  readonly services: Omit<ThreadServices, 'rested' | 'lost'>
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
  /** Threads that are just being archived or deleted: nobody may load them. */
  readonly #fenced = new Set<string>()

  constructor(options: ThreadsOptions) {
    this.#options = options
    this.#services = {
      ...options.services,
      rested: thread => this.rest(thread.id),
      lost: thread => this.#forget(thread),
    }
  }

  start(params: StartThread): Thread {
    const header = headerOf(params, null)
    return this.#add(
      new Thread({ header, ephemeral: params.ephemeral, clientTools: params.clientTools }, this.#services),
    )
  }

  /**
   * Makes a thread that goes on where another one is or was. Its turns keep their ids; one that still runs there is
   * interrupted here. Resolves when the copy is on the medium.
   */
  async fork(params: ForkThread): Promise<Thread> {
    const { sourceId } = params
    checkId(sourceId)
    const records = this.#services.store.records(sourceId)
    const source = this.loaded(sourceId)
    if (!records || source?.ephemeral) throw noLog(sourceId)
    const entries = copyOf(records, params, this.#services.now())
    return this.#startWith(headerOf(params, source?.id ?? sourceId.toLowerCase()), entries, params)
  }

  /** Makes a thread with a past that comes from elsewhere. Resolves when it is on the medium. */
  startWith(params: StartThread, entries: readonly Entry[]): Promise<Thread> {
    return this.#startWith(headerOf(params, null), entries, params)
  }

  async #startWith(header: Header, entries: readonly Entry[], params: StartThread): Promise<Thread> {
    const { store, now } = this.#services
    const path = store.pathFor(header.id, header.createdAt)
    const git = params.ephemeral ? null : readGitInfo(header.settings.cwd)
    const full = { ...header, gitInfo: git }
    const history = new History()
    const log = params.ephemeral ? null : store.create(full, path)
    history.apply(full, header.createdAt)
    for (const entry of entries) {
      log?.append(entry)
      history.apply(entry, now())
    }
    await log?.sync()
    const { ephemeral, clientTools } = params
    return this.#add(
      new Thread({ header: full, ephemeral, clientTools, stored: { log, history, path } }, this.#services),
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
    if (this.#fenced.has(id.toLowerCase())) throw noLog(id)
    const opened = this.#services.store.open(id)
    if (!opened) throw this.#services.store.findArchived(id) ? archived(id) : noLog(id)
    const { header, history, path } = opened.thread
    const origin = { header, ephemeral: false, clientTools: [], stored: { log: opened.log, history, path } }
    const loaded = this.#add(new Thread(origin, this.#services))
    const { bad } = opened.thread
    if (bad > 0)
      loaded.warnWhenHeard(
        `${bad} damaged line${bad > 1 ? 's' : ''} of this conversation's log could not be read; the rest is here.`,
      )
    return loaded
  }

  /** A thread on disk that is not in memory. */
  stored(id: string): StoredThread | null {
    checkId(id)
    return this.#services.store.read(id)
  }

  /** What a fork needs to know of a thread that has a log, in memory or not. Throws when it has none. */
  saved(id: string): Pick<StartThread, 'settings' | 'config' | 'clientTools'> {
    checkId(id)
    const thread = this.loaded(id)
    if (thread?.materialized && !thread.ephemeral) {
      return { settings: thread.settings, config: thread.scope.overrides, clientTools: thread.clientTools }
    }
    const stored = thread || this.#services.store.find(id) === null ? null : this.#services.store.read(id)
    if (!stored) throw noLog(id)
    const { header, history } = stored
    return { settings: history.settings ?? header.settings, config: header.config, clientTools: [] }
  }

  /** The id of the thread whose log is at `path`. */
  idOfPath(path: string): string {
    const stored = this.#services.store.readPath(path)
    if (!stored) throw new EngineError('logNotFound', `no rollout found at ${path}`)
    return stored.header.id
  }

  /** Writes a fact of a thread, in memory or not, without loading it. */
  async note(id: string, entry: Note): Promise<ThreadView> {
    checkId(id)
    const thread = this.loaded(id)
    if (thread) {
      thread.note(entry)
      return thread.view()
    }
    const opened = this.#fenced.has(id.toLowerCase()) ? null : this.#services.store.open(id)
    if (!opened) throw new EngineError('threadNotFound', `thread not found: ${id}`, { threadId: id })
    opened.thread.history.apply(opened.log.append(entry), this.#services.now())
    await opened.log.close()
    return storedView(opened.thread)
  }

  /**
   * Marks a thread as read, or as unread from its last turn on. A client that knows an older state than the newest changes
   * nothing and is given that one.
   */
  async markRead(
    id: string,
    read: boolean,
    revision: string,
  ): Promise<{ readonly changed: boolean; readonly readState: ReadState }> {
    checkId(id)
    const past = this.loaded(id) ?? this.#services.store.read(id)?.history
    if (!past) throw new EngineError('threadNotFound', `thread not found: ${id}`, { threadId: id })
    const current = past.readState
    if (current.revision !== revision || read === (current.firstUnread === null)) {
      return { changed: false, readState: current }
    }
    const { lastTurn } = past
    const unread = lastTurn === null ? { type: 'threadStart' as const } : { type: 'turn' as const, turnId: lastTurn }
    const readState = { firstUnread: read ? null : unread, revision: String(Number(revision) + 1) }
    await this.note(id, { t: 'read', readState })
    return { changed: true, readState }
  }

  /** Puts a thread away: it leaves memory and lists, and nobody can resume it until it is brought back. */
  archive(id: string): Promise<void> {
    return this.#putAway(id, () => this.#services.store.archive(id))
  }

  /** Brings an archived thread back; it stays out of memory. */
  unarchive(id: string): ThreadView {
    checkId(id)
    const { store } = this.#services
    if (!store.unarchive(id)) {
      throw new EngineError('logNotFound', `no archived rollout found for thread id ${id}`, { threadId: id })
    }
    const stored = store.read(id)
    if (!stored) throw noLog(id)
    return storedView(stored)
  }

  /** Deletes a thread, archived or not, for good. */
  delete(id: string): Promise<void> {
    return this.#putAway(id, () => this.#services.store.remove(id))
  }

  /** Stops what runs in a thread, takes it out of memory and does `act` to its file; meanwhile nobody can open it. */
  async #putAway(id: string, act: () => boolean): Promise<void> {
    checkId(id)
    const key = id.toLowerCase()
    const thread = this.loaded(id)
    if (this.#fenced.has(key) || thread?.ephemeral) throw noLog(id)
    this.#fenced.add(key)
    try {
      if (thread) {
        thread.materialize()
        await thread.finish(STOP_MS)
        await this.#drop(thread)
      }
      if (!act()) throw noLog(id)
    } finally {
      this.#fenced.delete(key)
    }
  }

  /** Every thread a list may show: saved ones, with what is known right now about those in memory. */
  *views(archived = false): Generator<ThreadView> {
    for (const view of this.#services.store.list(archived)) yield this.loaded(view.id)?.view() ?? view
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
    const closed = this.#drop(thread)
    this.#services.emit({ type: 'thread.closed', threadId: thread.id })
    await closed
  }

  async #drop(thread: Thread): Promise<void> {
    this.#loaded.delete(thread.id.toLowerCase())
    clearTimeout(this.#timers.get(thread.id))
    this.#timers.delete(thread.id)
    this.#services.emit({ type: 'thread.status', threadId: thread.id, status: { type: 'notLoaded' } })
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

  /** A thread that another process has taken is gone from here; nobody is kept from opening it again. */
  #forget(thread: Thread): void {
    this.#loaded.delete(thread.id.toLowerCase())
    clearTimeout(this.#timers.get(thread.id))
    this.#timers.delete(thread.id)
    this.#services.emit({ type: 'thread.closed', threadId: thread.id })
  }

  #add(thread: Thread): Thread {
    this.#loaded.set(thread.id.toLowerCase(), thread)
    // Should nobody come to follow it, it must not stay for ever. Who does follows an ephemeral one in this very step.
    if (!thread.ephemeral) this.rest(thread.id)
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

function headerOf(params: StartThread, forkedFrom: string | null): Header {
  const id = newId()
  return {
    t: 'thread',
    v: LOG_VERSION,
    id,
    sessionId: id,
    forkedFrom,
    createdAt: params.createdAt,
    source: 'vscode',
    threadSource: params.threadSource,
    originator: params.originator,
    cliVersion: params.cliVersion,
    gitInfo: params.gitInfo,
    settings: params.settings,
    config: params.config,
  }
}

function checkId(id: string): void {
  if (!isUuid(id)) throw new EngineError('threadIdInvalid', id)
}

const noLog = (id: string): EngineError =>
  new EngineError('logNotFound', `no rollout found for thread id ${id}`, { threadId: id })

const archived = (id: string): EngineError =>
  new EngineError('threadArchived', `session ${id} is archived. Run \`codex unarchive ${id}\` to unarchive it first.`, {
    threadId: id,
  })
