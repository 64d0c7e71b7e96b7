import type { Clock } from '../../base/clock.ts'
import { isObject } from '../../base/json.ts'
import type { Disk, Handle } from './disk.ts'
import type { LogRecord, Stored } from './records.ts'

const LF = 10

/**
 * One thread's file, open for appending. A record is one line in one `write`; what was appended before `sync` resolves
 * survives a power cut.
 */
export class Log {
  readonly path: string
  readonly #handle: Handle
  readonly #now: Clock
  #next: number
  #running: Promise<void> | null = null
  #queued: Promise<void> | null = null
  #closed = false

  private constructor(path: string, handle: Handle, now: Clock, next: number) {
    this.path = path
    this.#handle = handle
    this.#now = now
    this.#next = next
  }

  /** Opens `path` for appending records from ordinal `next` on; the file is made when absent. */
  static open(at: { readonly disk: Disk; readonly path: string; readonly now: Clock; readonly next: number }): Log {
    return new Log(at.path, at.disk.append(at.path), at.now, at.next)
  }

  /** Throws when the disk does. */
  append(record: LogRecord): Stored {
    const stored: Stored = { n: this.#next, at: this.#now(), ...record }
    this.#handle.write(Buffer.from(`${JSON.stringify(stored)}\n`))
    this.#next++
    return stored
  }

  /** Starts at once; calls that come while one runs share the next one. */
  sync(): Promise<void> {
    if (!this.#running) return this.#start()
    this.#queued ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#queued = null
        return this.#start()
      })
    return this.#queued
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await (this.#queued ?? this.#running)?.catch(() => {})
    this.#handle.close()
  }

  #start(): Promise<void> {
    this.#running = this.#handle.datasync().finally(() => {
      this.#running = null
    })
    return this.#running
  }
}

export interface ReadLog {
  readonly records: readonly Stored[]
  /** Lines that are no record. */
  readonly bad: number
  /** Length in bytes of the whole lines; what follows is a torn tail. */
  readonly whole: number
}

/** Reads every record of a log that can be read. A bad line is counted, never fatal; a torn tail is left out. */
export function readLog(bytes: Buffer): ReadLog {
  const records: Stored[] = []
  let bad = 0
  let start = 0
  for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
    const record = parseRecord(bytes.toString('utf8', start, end))
    if (record) records.push(record)
    else if (end > start) bad++
    start = end + 1
  }
  return { records, bad, whole: start }
}

function parseRecord(line: string): Stored | null {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) && typeof value.t === 'string' ? (value as unknown as Stored) : null
  } catch {
    return null
  }
}

/**
 * Makes a log that may have been cut in mid-write safe to append to: a whole record without its line feed gets one, any
 * other tail is moved to `<path>.torn-<time>` beside it.
 */
export function mendTail(disk: Disk, path: string, now: Clock): Buffer {
  const bytes = disk.read(path)
  const { whole } = readLog(bytes)
  if (whole === bytes.length) return bytes
  const tail = bytes.subarray(whole)
  if (parseRecord(tail.toString('utf8'))) {
    const handle = disk.append(path)
    handle.write(Buffer.from('\n'))
    handle.close()
    return Buffer.concat([bytes, Buffer.from('\n')])
  }
  disk.write(`${path}.torn-${now()}`, tail)
  disk.truncate(path, whole)
  return bytes.subarray(0, whole)
}
