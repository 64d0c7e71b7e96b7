import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { History } from '../history.ts'
import type { Disk } from './disk.ts'
import { Log, mendTail, readLog } from './log.ts'
import type { Header, Stored } from './records.ts'

const NAME = /^rollout-.*-([0-9a-f-]{36})\.jsonl$/i

/** A thread as it stands on disk. */
export interface StoredThread {
  readonly path: string
  readonly history: History
  readonly header: Header
  readonly archived: boolean
}

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
  /** Last reading of each log, good as long as the file has not changed. Turns are not kept here. */
  readonly #seen = new Map<string, { readonly stamp: string; readonly thread: StoredThread }>()

  constructor(at: { readonly disk: Disk; readonly root: string; readonly now: Clock }) {
    this.#disk = at.disk
    this.#root = at.root
    this.#archive = join(dirname(at.root), 'archived_sessions')
    this.#now = at.now
  }

  /** Where a thread's log is, or will be. */
  pathFor(id: string, createdAt: number): string {
    const time = new Date(createdAt).toISOString()
    const [year, month, day] = [time.slice(0, 4), time.slice(5, 7), time.slice(8, 10)]
    return join(this.#root, year, month, day, `rollout-${time.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`)
  }

  /** Makes a new thread's log with its header. */
  create(header: Header, path: string): Log {
    this.#disk.mkdir(dirname(path))
    const log = Log.open({ disk: this.#disk, path, now: this.#now, next: 0 })
    log.append(header)
    this.#paths.set(header.id, path)
    return log
  }

  /** Reads a thread, archived or not, without changing anything; null when nothing of it can be read. */
  read(id: string): StoredThread | null {
    const path = this.find(id) ?? this.findArchived(id)
    return path === null ? null : this.readPath(path)
  }

  readPath(path: string): StoredThread | null {
    if (!this.#disk.stat(path)) return null
    return this.#stored(path, History.of(readLog(this.#disk.read(path)).records))
  }

  /** Every record of a thread that is not archived, in order; null when there is no such log. */
  records(id: string): readonly Stored[] | null {
    const path = this.find(id)
    return path === null ? null : readLog(this.#disk.read(path)).records
  }

  /** Opens a log to go on with it; a torn tail is moved aside first. */
  open(id: string): { readonly log: Log; readonly thread: StoredThread } | null {
    const path = this.find(id)
    if (path === null || !this.#disk.stat(path)) return null
    const { records } = readLog(mendTail(this.#disk, path, this.#now))
    const thread = this.#stored(path, History.of(records))
    if (!thread) return null
    const next = records.reduce((n, record) => Math.max(n, (record.n ?? -1) + 1), 0)
    return { log: Log.open({ disk: this.#disk, path, now: this.#now, next }), thread }
  }

  find(id: string): string | null {
    const known = this.#paths.get(id.toLowerCase())
    if (known && this.#disk.stat(known)) return known
    for (const path of this.#files()) this.#paths.set(idOf(path), path)
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
    this.#move(path, join(this.#archive, basename(path)))
    return true
  }

  /** Brings an archived log back to where it was; false when there is none. */
  unarchive(id: string): boolean {
    const from = this.findArchived(id)
    if (from === null) return false
    const [, year = '', month = '', day = ''] = /^rollout-(\d{4})-(\d\d)-(\d\d)/.exec(basename(from)) ?? []
    const to = join(this.#root, year, month, day, basename(from))
    this.#disk.mkdir(dirname(to))
    this.#move(from, to)
    this.#paths.set(id.toLowerCase(), to)
    return true
  }

  /** Deletes a closed log, archived or not, and what was once torn off it; false when there is none. */
  remove(id: string): boolean {
    const path = this.find(id) ?? this.findArchived(id)
    if (path === null) return false
    this.#disk.unlink(path)
    for (const torn of this.#torn(path)) this.#disk.unlink(torn)
    this.#paths.delete(id.toLowerCase())
    this.#seen.delete(path)
    return true
  }

  #move(from: string, to: string): void {
    for (const torn of this.#torn(from)) this.#disk.rename(torn, join(dirname(to), basename(torn)))
    this.#disk.rename(from, to)
    this.#paths.delete(idOf(from))
    this.#seen.delete(from)
  }

  /** Tails that were moved aside when the log at `path` was mended. */
  #torn(path: string): readonly string[] {
    const prefix = `${basename(path)}.torn-`
    const names = this.#disk.list(dirname(path)).filter(name => name.startsWith(prefix))
    return names.map(name => join(dirname(path), name))
  }

  /** Every thread that can be read, unordered. Reads only logs that have changed since the last call. */
  *list(archived = false): Generator<StoredThread> {
    for (const path of archived ? this.#archivedFiles() : this.#files()) {
      const stat = this.#disk.stat(path)
      if (!stat) continue
      const stamp = `${stat.size} ${stat.mtimeMs}`
      let seen = this.#seen.get(path)
      if (seen?.stamp !== stamp) {
        const thread = this.readPath(path)
        if (!thread) continue
        thread.history.forgetTurns()
        seen = { stamp, thread }
        this.#seen.set(path, seen)
      }
      yield seen.thread
    }
  }

  #stored(path: string, history: History): StoredThread | null {
    return history.header && { path, history, header: history.header, archived: dirname(path) === this.#archive }
  }

  *#archivedFiles(): Generator<string> {
    for (const name of this.#disk.list(this.#archive)) if (NAME.test(name)) yield join(this.#archive, name)
  }

  *#files(): Generator<string> {
    const numbers = (path: string): string[] => this.#disk.list(path).filter(name => /^\d+$/.test(name))
    for (const year of numbers(this.#root)) {
      for (const month of numbers(join(this.#root, year))) {
        for (const day of numbers(join(this.#root, year, month))) {
          const dir = join(this.#root, year, month, day)
          for (const name of this.#disk.list(dir)) if (NAME.test(name)) yield join(dir, name)
        }
      }
    }
  }
}

/** The thread id in a log's name; empty for another file. */
const idOf = (path: string): string => (NAME.exec(path.slice(path.lastIndexOf('/') + 1))?.[1] ?? '').toLowerCase()
