import { dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { History } from '../history.ts'
import type { Disk } from './disk.ts'
import { Log, mendTail, readLog } from './log.ts'
import type { Header } from './records.ts'

const NAME = /^rollout-.*-([0-9a-f-]{36})\.jsonl$/i

/** A thread as it stands on disk. */
export interface StoredThread {
  readonly path: string
  readonly history: History
  readonly header: Header
}

/** All logs under one sessions folder: `YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`. */
export class Store {
  readonly #disk: Disk
  readonly #root: string
  readonly #now: Clock
  readonly #paths = new Map<string, string>()
  /** Last reading of each log, good as long as the file has not changed. Turns are not kept here. */
  readonly #seen = new Map<string, { readonly stamp: string; readonly thread: StoredThread }>()

  constructor(at: { readonly disk: Disk; readonly root: string; readonly now: Clock }) {
    this.#disk = at.disk
    this.#root = at.root
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

  /** Reads a thread without changing anything; null when there is no such log or nothing in it can be read. */
  read(id: string): StoredThread | null {
    const path = this.find(id)
    return path === null ? null : this.readPath(path)
  }

  readPath(path: string): StoredThread | null {
    if (!this.#disk.stat(path)) return null
    return stored(path, History.of(readLog(this.#disk.read(path)).records))
  }

  /** Opens a log to go on with it; a torn tail is moved aside first. */
  open(id: string): { readonly log: Log; readonly thread: StoredThread } | null {
    const path = this.find(id)
    if (path === null || !this.#disk.stat(path)) return null
    const { records } = readLog(mendTail(this.#disk, path, this.#now))
    const thread = stored(path, History.of(records))
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

  /** Every thread that can be read, unordered. Reads only logs that have changed since the last call. */
  *list(): Generator<StoredThread> {
    for (const path of this.#files()) {
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

const idOf = (path: string): string => (NAME.exec(path.slice(path.lastIndexOf('/') + 1))?.[1] ?? '').toLowerCase()

function stored(path: string, history: History): StoredThread | null {
  return history.header && { path, history, header: history.header }
}
