import type { Clock } from '../../base/clock.ts'
import { LogFile, type LogFileOptions, type LogNews, type OpenedFile } from './log-file.ts'
import type { LogRecord, Stored } from './records.ts'

/**
 * One thread's log, owned and open for appending. A record is one line in one `write`; what was appended before `sync`
 * resolves survives a power cut. Failures of the disk are reported by the file, never thrown.
 */
export class Log {
  readonly #file: LogFile
  readonly #now: Clock
  readonly #changed: () => void
  #next: number
  #listener: ((news: LogNews) => void) | null = null
  #unheard: LogNews[] = []

  /** `next`: the ordinal of the first record appended. `opened`: what has been opened of it already. */
  constructor(at: {
    readonly file: Omit<LogFileOptions, 'report'>
    readonly opened: OpenedFile | null
    readonly now: Clock
    readonly next: number
    /** Called when there is something new in the file that is worth a look. */
    readonly changed: () => void
  }) {
    this.#file = new LogFile({ ...at.file, report: news => this.#tell(news) }, at.opened)
    this.#now = at.now
    this.#next = at.next
    this.#changed = at.changed
  }

  /** Who hears how the disk is doing, what has happened so far included. */
  listen(listener: (news: LogNews) => void): void {
    this.#listener = listener
    for (const news of this.#unheard.splice(0)) listener(news)
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
    this.#changed()
    return this.#file.sync()
  }

  /** Writes what waits, as far as the disk takes it, and gives up the ownership. */
  close(): Promise<void> {
    this.#changed()
    return this.#file.close()
  }

  #tell(news: LogNews): void {
    if (this.#listener) this.#listener(news)
    else this.#unheard.push(news)
  }
}
