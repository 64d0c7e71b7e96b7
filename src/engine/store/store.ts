import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { EngineError } from '../errors.ts'
import type { ThreadView } from '../events.ts'
import { History } from '../history.ts'
import type { Disk } from './disk.ts'
import { Lock } from './lock.ts'
import { Log } from './log.ts'
import type { OpenedFile } from './log-file.ts'
import { savedLogs } from './log-folders.ts'
import { headerFromName, idOf } from './log-name.ts'
import { type Machine, realMachine } from './machine.ts'
import { mendTail } from './mend.ts'
import { nextOrdinal, type ReadLog, readLog } from './read-log.ts'
import { Recent } from './recent.ts'
import type { Header, Stored } from './records.ts'
import { ThreadIndex } from './thread-index.ts'

/** A thread as it stands on disk. */
export interface StoredThread {
  readonly path: string
  readonly history: History
  readonly header: Header
  readonly archived: boolean
  /** Lines of its log that could not be read. */
  readonly bad: number
}

export interface StoreOptions {
  readonly disk: Disk
  readonly root: string
  readonly now: Clock
  readonly machine?: Machine
  /** Whether what must last is brought to the medium (default), or left to the system to write when it likes. */
  readonly durable?: () => boolean
  /** Bytes of one log that may wait for a disk that fails; default 64 MiB. */
  readonly maxWaiting?: number
}

const MAX_WAITING = 64 * 1024 * 1024

/**
 * All logs under one sessions folder, `YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`, and those put away in the folder
 * `archived_sessions` beside it.
 */
export class Store {
  readonly #disk: Disk
  readonly #root: string
  readonly #archive: string
  readonly #now: Clock
  readonly #paths = new Map<string, string>()
  readonly #index: ThreadIndex
  readonly #lastRead = new Recent<StoredThread>()
  readonly #machine: Machine
  readonly #durable: () => boolean
  readonly #maxWaiting: number

  constructor(at: StoreOptions) {
    this.#disk = at.disk
    this.#root = at.root
    this.#archive = join(dirname(at.root), 'archived_sessions')
    this.#index = new ThreadIndex({ disk: at.disk, root: at.root, archive: this.#archive })
    this.#now = at.now
    this.#machine = at.machine ?? realMachine
    this.#maxWaiting = at.maxWaiting ?? MAX_WAITING
    this.#durable = at.durable ?? (() => true)
  }

  /** Where a thread's log is, or will be. */
  pathFor(id: string, createdAt: number): string {
    const time = new Date(createdAt).toISOString()
    const [year, month, day] = [time.slice(0, 4), time.slice(5, 7), time.slice(8, 10)]
    return join(this.#root, year, month, day, `rollout-${time.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`)
  }

  /**
   * Makes a new thread's log with its header. The settings stand in it twice, so that a damaged header does not take them
   * along.
   */
  create(header: Header, path: string): Log {
    const open = (): OpenedFile => {
      const folders = this.#disk.mkdir(dirname(path))
      return this.#openFile(header.id, path, [dirname(path), ...folders])
    }
    const log = this.#log({ path, open, known: null, next: 0, listed: path }, null)
    log.append(header)
    log.append({ t: 'settings', settings: header.settings })
    this.#paths.set(header.id, path)
    this.#index.touch(path)
    return log
  }

  /** Reads a thread, archived or not, without changing anything; null when nothing of it can be read. */
  read(id: string): StoredThread | null {
    const path = this.find(id) ?? this.findArchived(id)
    return path === null ? null : this.readPath(path)
  }

  /** Not to be changed: readers share it. Null also for what is no regular file: reading that might never end. */
  readPath(path: string): StoredThread | null {
    const stat = this.#disk.stat(path)
    if (!stat?.file) return null
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${path}`
    return this.#lastRead.get(stamp) ?? this.#lastRead.keep(stamp, this.#stored(path, readLog(this.#disk.read(path))))
  }

  /** Every record of a thread that is not archived, in order; null when there is no such log. */
  records(id: string): readonly Stored[] | null {
    const path = this.find(id)
    return path === null ? null : readLog(this.#disk.read(path)).records
  }

  /**
   * Takes a log over to go on with it; a torn tail is moved aside first. Throws `lockedElsewhere` when another process
   * has it. A disk that cannot be written is no reason to refuse: what is said then waits for it.
   */
  open(id: string): { readonly log: Log; readonly thread: StoredThread } | null {
    const found = this.find(id)
    if (found === null || !this.#disk.stat(found)?.file) return null
    const path = this.#disk.realpath(found)
    const open = (): OpenedFile => this.#openFile(id, path, [])
    const opened = orNull(open)
    try {
      const read = readLog(this.#disk.read(path))
      const thread = this.#stored(found, read)
      if (!thread) return opened && release(opened)
      const log = this.#log({ path, open, known: read.mended, next: nextOrdinal(read.records), listed: found }, opened)
      return { log, thread }
    } catch (error) {
      if (opened) release(opened)
      throw error
    }
  }

  /** Locks, mends and opens a log for appending. */
  #openFile(id: string, path: string, folders: readonly string[]): OpenedFile {
    const stat = this.#disk.stat(path)
    if (stat && stat.links > 1) {
      throw new EngineError('storage', `the log of thread ${id} has ${stat.links} names (hard links): ${path}`)
    }
    const lock = Lock.take({ disk: this.#disk, machine: this.#machine, path, id })
    try {
      const size = stat ? mendTail(this.#disk, { path, size: stat.size, now: this.#now }) : 0
      return { lock, handle: this.#disk.append(path), size, folders }
    } catch (error) {
      lock.release()
      throw error
    }
  }

  #log(
    at: {
      readonly path: string
      readonly open: () => OpenedFile
      readonly known: number | null
      readonly next: number
      /** Where lists know it, symbolic links and all. */
      readonly listed: string
    },
    opened: OpenedFile | null,
  ): Log {
    const { path, open, known, next, listed } = at
    const file = { disk: this.#disk, path, durable: this.#durable(), maxWaiting: this.#maxWaiting, open, known }
    return new Log({ file, opened, now: this.#now, next, changed: () => this.#index.touch(listed) })
  }

  find(id: string): string | null {
    const known = this.#paths.get(id.toLowerCase())
    if (known && this.#disk.stat(known)) return known
    this.#paths.delete(id.toLowerCase())
    for (const path of savedLogs(this.#disk, this.#root)) this.#paths.set(idOf(path), path)
    return this.#paths.get(id.toLowerCase()) ?? null
  }

  findArchived(id: string): string | null {
    const wanted = id.toLowerCase()
    const name = this.#disk.list(this.#archive).find(entry => idOf(entry) === wanted)
    return name === undefined ? null : join(this.#archive, name)
  }

  /** Puts a closed log away; false when there is none. */
  archive(id: string): boolean {
    const path = this.find(id)
    if (path === null) return false
    this.#disk.mkdir(this.#archive)
    this.#exclusively(id, path, () => this.#move(path, join(this.#archive, basename(path))))
    return true
  }

  /** Brings an archived log back to where it was; false when there is none. */
  unarchive(id: string): boolean {
    const from = this.findArchived(id)
    if (from === null) return false
    const [, year = '', month = '', day = ''] = /^rollout-(\d{4})-(\d\d)-(\d\d)/.exec(basename(from)) ?? []
    const to = join(this.#root, year, month, day, basename(from))
    this.#disk.mkdir(dirname(to))
    this.#exclusively(id, from, () => this.#move(from, to))
    this.#paths.set(id.toLowerCase(), to)
    return true
  }

  /** Deletes a closed log, archived or not, and what was once torn off it; false when there is none. */
  remove(id: string): boolean {
    const path = this.find(id) ?? this.findArchived(id)
    if (path === null) return false
    this.#exclusively(id, path, () => {
      this.#disk.unlink(path)
      for (const torn of this.#torn(path)) this.#disk.unlink(torn)
    })
    this.#paths.delete(id.toLowerCase())
    this.#index.touch(path)
    return true
  }

  /** Throws `lockedElsewhere` when another process has the log. */
  #exclusively(id: string, path: string, act: () => void): void {
    const lock = Lock.take({ disk: this.#disk, machine: this.#machine, path: this.#disk.realpath(path), id })
    try {
      act()
    } finally {
      lock.release()
    }
    // Nobody waits for it: after a power cut the thread may be where it was.
    void this.#disk.syncDir(dirname(path)).catch(() => {})
  }

  #move(from: string, to: string): void {
    if (this.#disk.stat(to)) throw new EngineError('storage', `there is another log at ${to}`)
    for (const torn of this.#torn(from)) this.#disk.rename(torn, join(dirname(to), basename(torn)))
    this.#disk.rename(from, to)
    this.#paths.delete(idOf(from))
    this.#index.touch(from)
    this.#index.touch(to)
  }

  /** Tails that were moved aside when the log at `path` was mended. */
  #torn(path: string): readonly string[] {
    const prefix = `${basename(path)}.torn-`
    const names = this.#disk.list(dirname(path)).filter(name => name.startsWith(prefix))
    return names.map(name => join(dirname(path), name))
  }

  /**
   * Every thread that is known, unordered; of a large store whose index is still being built, those found so far. Opens
   * no log that has not changed.
   */
  list(archived = false): Iterable<ThreadView> {
    return this.#index.list(archived)
  }

  /** Begins to build the index of threads in the background. */
  warm(): void {
    this.#index.warm()
  }

  /** Writes down what a later process would have to find out again. */
  close(): void {
    this.#index.close()
    this.#lastRead.forget()
  }

  /** A log whose header cannot be read gets one from its name; null for a file that is no log. */
  #stored(path: string, { records, bad }: ReadLog): StoredThread | null {
    const history = History.of(records)
    if (!history.header) {
      const header = headerFromName(path, history.settings)
      if (header) history.apply(header, header.createdAt)
    }
    return history.header && { path, history, header: history.header, archived: dirname(path) === this.#archive, bad }
  }
}

/** Null when the disk fails; a refusal is passed on. */
function orNull(open: () => OpenedFile): OpenedFile | null {
  try {
    return open()
  } catch (error) {
    if (error instanceof EngineError) throw error
    return null
  }
}

function release({ handle, lock }: OpenedFile): null {
  handle.close()
  lock.release()
  return null
}
