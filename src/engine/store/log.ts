import type { Clock } from '../../base/clock.ts'
import type { LogFile } from './log-file.ts'
import type { LogRecord, Stored } from './records.ts'

/**
 * One thread's log, owned and open for appending. A record is one line in one `write`; what was appended before `sync`
 * resolves survives a power cut. Failures of the disk are reported by the file, never thrown.
 */
export class Log {
  readonly path: string
  readonly #file: LogFile
  readonly #now: Clock
  #next: number

  /** `next`: the ordinal of the first record appended. */
  constructor(at: { readonly path: string; readonly file: LogFile; readonly now: Clock; readonly next: number }) {
    this.path = at.path
    this.#file = at.file
    this.#now = at.now
    this.#next = at.next
  }

  /** Whether so much waits for a disk that fails that no new turn should begin. */
  get full(): boolean {
    return this.#file.full
  }

  append(record: LogRecord): Stored {
    const stored: Stored = { n: this.#next++, at: this.#now(), ...record }
    this.#file.append(Buffer.from(`${JSON.stringify(stored)}\n`))
    return stored
  }

  /** Appends what is welcome but not owed: left out while the disk fails, so that it takes no room from what is owed. */
  journal(record: LogRecord): void {
    if (!this.#file.failing) this.append(record)
  }

  sync(): Promise<void> {
    return this.#file.sync()
  }

  /** Writes what waits, as far as the disk takes it, and gives up the ownership. */
  close(): Promise<void> {
    return this.#file.close()
  }
}
