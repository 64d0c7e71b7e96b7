import { isObject } from '../../base/json.ts'
import type { ThreadView } from '../events.ts'
import type { Disk } from './disk.ts'

const LF = 10

/** Changes with the shape of an entry: an index of another version is made anew. */
const HEADER = `${JSON.stringify({ index: 'skein', version: 1 })}\n`

/** What is known of one log, good for as long as its file has this size and time. */
export interface Indexed {
  /** The log, relative to the sessions folder. */
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
  /** Null: nothing can be shown of it, or it is gone. */
  readonly view: ThreadView | null
}

/**
 * The file in which an index outlives its process: a line for each change, the last one about a log counts. Several
 * processes append to it; none needs it to be right, because every entry is checked against its log.
 */
export class IndexFile {
  readonly #disk: Disk
  readonly #path: string
  #offset = 0
  #ino = 0
  /** It ends in the middle of a line. */
  #torn = false
  /** Lines in it, superseded ones too. */
  lines = 0

  constructor(disk: Disk, path: string) {
    this.#disk = disk
    this.#path = path
  }

  /** Entries that have come since the last call, all of them at first. A file that is damaged yields what can be read. */
  *news(): Generator<Indexed> {
    const bytes = this.#unread()
    let start = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      const entry = parse(bytes.toString('utf8', start, end))
      this.#offset += end + 1 - start
      start = end + 1
      this.lines++
      if (entry) yield entry
    }
    this.#torn = start < bytes.length
  }

  /** Best effort: an index that cannot be written is only slower the next time. */
  append(entries: readonly Indexed[]): void {
    try {
      const handle = this.#disk.append(this.#path)
      const begun = (this.#disk.stat(this.#path)?.size ?? 0) > 0
      handle.write(Buffer.from(`${begun ? (this.#torn ? '\n' : '') : HEADER}${text(entries)}`))
      handle.close()
      this.#torn = false
      this.lines += entries.length
    } catch {}
  }

  /** Puts a file with these entries alone in its place. */
  rewrite(entries: readonly Indexed[]): void {
    try {
      const temp = `${this.#path}.${process.pid}`
      this.#disk.write(temp, Buffer.from(`${HEADER}${text(entries)}`))
      this.#disk.rename(temp, this.#path)
      this.lines = entries.length
    } catch {}
  }

  #unread(): Buffer {
    try {
      const stat = this.#disk.stat(this.#path)
      if (!stat?.file) return Buffer.alloc(0)
      if (stat.ino !== this.#ino || stat.size < this.#offset) this.#offset = 0
      this.#ino = stat.ino
      if (stat.size === this.#offset) return Buffer.alloc(0)
      const bytes = this.#disk.read(this.#path, this.#offset)
      if (this.#offset > 0) return bytes
      // Another version's, or none of ours: begun anew.
      if (bytes.toString('utf8', 0, HEADER.length) === HEADER) return bytes
      this.rewrite([])
    } catch {}
    return Buffer.alloc(0)
  }
}

const text = (entries: readonly Indexed[]): string => entries.map(entry => `${JSON.stringify(entry)}\n`).join('')

function parse(line: string): Indexed | null {
  try {
    const value: unknown = JSON.parse(line)
    if (!isObject(value) || typeof value.path !== 'string' || typeof value.size !== 'number') return null
    const { view } = value
    if (view !== null && !(isObject(view) && typeof view.id === 'string' && typeof view.cwd === 'string')) return null
    return value as unknown as Indexed
  } catch {
    return null
  }
}
