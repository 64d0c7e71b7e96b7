import type { DeltaPart, Item } from './items.ts'
import { Journal } from './store/journal.ts'
import type { Log } from './store/log.ts'
import type { LogNews } from './store/log-file.ts'
import type { Entry } from './store/records.ts'

export interface ThreadLogOptions {
  /** The log of a thread that has one already. */
  readonly log: Log | null
  /** Makes the log, with its header; null for a thread that is never saved. */
  readonly create: (() => Log) | null
  /** Hears when saving fails, recovers, or is over for good. */
  readonly news: (news: LogNews) => void
}

/**
 * Where a thread's records go: its file, made with the first of them, and the journal of what is still streaming. A thread
 * that is never saved has the same, and nothing is written.
 */
export class ThreadLog {
  readonly #options: ThreadLogOptions
  readonly #journal = new Journal(entry => this.#log?.journal(entry))
  #log: Log | null
  #closed = false

  constructor(options: ThreadLogOptions) {
    this.#options = options
    this.#log = options.log
    this.#log?.listen(options.news)
  }

  get exists(): boolean {
    return this.#log !== null
  }

  /** Whether more is waiting to be saved than may wait: no new turn until the disk takes it. */
  get full(): boolean {
    return this.#log?.full === true
  }

  /** Makes the file although there is nothing to write yet. */
  create(): void {
    const { create, news } = this.#options
    if (this.#log || this.#closed || !create) return
    this.#log = create()
    this.#log.listen(news)
  }

  append(entry: Entry): void {
    if (entry.t === 'item') this.#journal.settle(entry.item.id)
    this.create()
    this.#log?.append(entry)
  }

  /** One delta of an open item, so that a crash leaves what has been streamed. */
  grow(turnId: string, item: Item, grown: { readonly part: DeltaPart; readonly delta: string }): void {
    if (this.#options.create) this.#journal.add(turnId, item, grown)
  }

  /** Resolves when what was appended survives a power cut. */
  async sync(): Promise<void> {
    await this.#log?.sync()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#journal.stop()
    const log = this.#log
    // What comes now is too late: nothing may write to a file that others may have by then.
    this.#log = null
    await log?.close()
  }
}
