import { join, relative } from 'node:path'
import type { ThreadView } from '../events.ts'
import type { Disk } from './disk.ts'
import { type Indexed, IndexFile } from './index-file.ts'
import { LightReading } from './light-reading.ts'
import { archivedLogs, savedLogs } from './log-folders.ts'

/** Logs that a list always looks at before it answers, while the index is being built and afterwards. */
const FIRST_LOOK = 1000
const LOOK = 300
/** Entries of the index file that count as one log looked at: they cost that much less. */
const BATCH = 100
/** Milliseconds of one step in the background, so that nothing else waits longer. */
const STEP_MS = 5
/** A long full look is repeated only after this many times as long as it took. */
const REST = 20
/** Milliseconds until changes are written to the index file. */
const SAVE_MS = 200
/** Readings kept so that a log that grows is read on instead of anew. */
const MAX_READINGS = 200

export interface IndexAt {
  readonly disk: Disk
  readonly root: string
  readonly archive: string
}

/**
 * What lists show of every log, in memory. It is checked against the folders step by step: a list waits for some
 * of that, the rest goes on in the background, and only logs that have changed are opened. What this
 * process itself writes is known at once.
 */
export class ThreadIndex {
  readonly #at: IndexAt
  readonly #file: IndexFile
  readonly #entries = new Map<string, Indexed>()
  readonly #readings = new Map<string, LightReading>()
  /** Logs that this process has changed since the last look. */
  readonly #touched = new Set<string>()
  readonly #unsaved = new Set<string>()
  #look: Generator<void> | null = null
  #looked: { readonly end: number; readonly ms: number; readonly steps: number } | null = null
  #background: NodeJS.Immediate | null = null
  #saving: NodeJS.Timeout | null = null

  constructor(at: IndexAt) {
    this.#at = at
    this.#file = new IndexFile(at.disk, join(at.root, 'index.jsonl'))
  }

  /** Begins to build it in the background. */
  warm(): void {
    this.#look ??= this.#steps()
    this.#goOn()
  }

  /** A log of this process has changed, come or gone. */
  touch(path: string): void {
    this.#touched.add(path)
    this.#saving ??= setTimeout(() => this.save(), SAVE_MS).unref()
  }

  /** Everything known right now; `archived` picks one of the two folders. */
  *list(archived: boolean): Generator<ThreadView> {
    this.#refreshTouched()
    this.#advance()
    for (const { view, path } of this.#entries.values()) if (view && path.startsWith('..') === archived) yield view
  }

  /** Writes what has changed to the index file. */
  save(): void {
    if (this.#saving) clearTimeout(this.#saving)
    this.#saving = null
    this.#refreshTouched()
    if (this.#unsaved.size === 0) return
    const changed = [...this.#unsaved].map(path => this.#entries.get(path) ?? gone(path))
    this.#unsaved.clear()
    if (this.#file.lines > 2 * this.#entries.size + 1000) this.#file.rewrite([...this.#entries.values()])
    else this.#file.append(changed)
  }

  /** Saves, and does nothing more. */
  close(): void {
    this.save()
    if (this.#background) clearImmediate(this.#background)
    this.#background = null
    this.#look = null
  }

  #refreshTouched(): void {
    for (const path of this.#touched) this.#check(path)
    this.#touched.clear()
  }

  /** Goes on with the look for as long as a list may wait. */
  #advance(): void {
    const last = this.#looked
    if (!this.#look && last && last.steps > LOOK && performance.now() < last.end + REST * last.ms) return
    this.#look ??= this.#steps()
    if (!this.#run(last ? LOOK : FIRST_LOOK, 0)) this.#goOn()
  }

  #goOn(): void {
    this.#background ??= setImmediate(() => {
      this.#background = null
      if (!this.#run(0, STEP_MS)) this.#goOn()
    })
    this.#background.unref()
  }

  /** Takes at least so many steps, for at least so long. False when there is more to do. */
  #run(steps: number, ms: number): boolean {
    const end = performance.now() + ms
    for (let n = 0; this.#look && (n < steps || performance.now() < end); n++) {
      if (this.#look.next().done) this.#look = null
    }
    return this.#look === null
  }

  /** One look at everything. */
  *#steps(): Generator<void> {
    let steps = 0
    let spent = 0
    let mark = performance.now()
    for (const _ of this.#everything()) {
      steps++
      spent += performance.now() - mark
      yield
      mark = performance.now()
    }
    this.#looked = { end: performance.now(), ms: spent, steps }
    if (this.#unsaved.size > 0) this.#saving ??= setTimeout(() => this.save(), SAVE_MS).unref()
  }

  *#everything(): Generator<void> {
    let adopted = 0
    for (const entry of this.#file.news()) {
      this.#adopt(entry)
      if (++adopted % BATCH === 0) yield
    }
    const { disk, root, archive } = this.#at
    const found = new Set<string>()
    for (const logs of [savedLogs(disk, root), archivedLogs(disk, archive)]) {
      for (const path of logs) {
        found.add(this.#nameOf(path))
        this.#check(path)
        yield
      }
    }
    for (const name of this.#entries.keys()) if (!found.has(name)) this.#check(join(root, name))
  }

  /** An entry that another process, or an earlier one, has written. */
  #adopt(entry: Indexed): void {
    const view = entry.view && { ...entry.view, path: join(this.#at.root, entry.path) }
    if (view || entry.size > 0) this.#entries.set(entry.path, { ...entry, view })
    else this.#entries.delete(entry.path)
  }

  /** Compares an entry with its log, and reads that if it has changed. */
  #check(path: string): void {
    const name = this.#nameOf(path)
    const stat = quietly(() => this.#at.disk.stat(path))
    const known = this.#entries.get(name)
    if (!stat?.file) {
      this.#readings.delete(name)
      if (this.#entries.delete(name)) this.#unsaved.add(name)
      return
    }
    if (known?.size === stat.size && known.mtimeMs === stat.mtimeMs) return
    const view = quietly(() => this.#read(name, path, stat.size))
    this.#entries.set(name, { path: name, size: stat.size, mtimeMs: stat.mtimeMs, view })
    this.#unsaved.add(name)
  }

  #read(name: string, path: string, size: number): ThreadView | null {
    const before = this.#readings.get(name)
    const reading = before && before.offset <= size ? before : new LightReading(path)
    reading.readOn(this.#at.disk)
    this.#readings.delete(name)
    this.#readings.set(name, reading)
    const oldest = this.#readings.keys().next().value
    if (this.#readings.size > MAX_READINGS && oldest !== undefined) this.#readings.delete(oldest)
    return reading.view()
  }

  #nameOf(path: string): string {
    const { root } = this.#at
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : relative(root, path)
  }
}

const gone = (path: string): Indexed => ({ path, size: 0, mtimeMs: 0, view: null })

/** A log that cannot be looked at is left out; the list goes on without it. */
function quietly<T>(look: () => T): T | null {
  try {
    return look()
  } catch {
    return null
  }
}
