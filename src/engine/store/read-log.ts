import { isObject } from '../../base/json.ts'
import type { Stored } from './records.ts'

const LF = 10

export interface ReadLog {
  readonly records: readonly Stored[]
  /** Lines that are no record. */
  readonly bad: number
  /** Length in bytes that the log has once its end is mended: without a torn tail, with the line feed a record lacks. */
  readonly mended: number
}

/**
 * Reads every record of a log that can be read. A bad line is counted, never fatal; a line that stands there twice (same
 * ordinal, same bytes) counts once; a torn tail is left out, unless only its line feed is missing. Bytes that are no UTF-8 become U+FFFD.
 */
export function readLog(bytes: Buffer): ReadLog {
  const records: Stored[] = []
  const seen = new Lines(bytes)
  let bad = 0
  let start = 0
  for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
    const record = end > start ? parseRecord(bytes.toString('utf8', start, end)) : undefined
    if (record === null) bad++
    else if (record && !seen.repeats(record.n, start, end)) records.push(record)
    start = end + 1
  }
  const last = start < bytes.length ? parseRecord(bytes.toString('utf8', start)) : null
  if (last) records.push(last)
  return { records, bad, mended: last ? bytes.length + 1 : start }
}

/** Remembers where each ordinal stood. Looking back is needed only in a log whose ordinals do not rise. */
class Lines {
  readonly #bytes: Buffer
  readonly #places = new Map<number, readonly [start: number, end: number]>()

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  repeats(n: number, start: number, end: number): boolean {
    const before = this.#places.get(n)
    if (!before) this.#places.set(n, [start, end])
    return before !== undefined && this.#bytes.compare(this.#bytes, start, end, ...before) === 0
  }
}

/** Null when `line` is no record. What a cut or another program put before it (NUL bytes, a BOM) is passed over. */
export function parseRecord(line: string): Stored | null {
  try {
    const value: unknown = JSON.parse(/^[\0\ufeff]/.test(line) ? line.replace(/^[\0\ufeff]+/, '') : line)
    return isObject(value) && typeof value.t === 'string' ? (value as unknown as Stored) : null
  } catch {
    return null
  }
}

/** The ordinal that follows everything in `records`. Damaged ones count for nothing. */
export function nextOrdinal(records: readonly Stored[]): number {
  return records.reduce((next, { n }) => (Number.isSafeInteger(n) && n >= next ? n + 1 : next), 0)
}
