import type { DeltaPart, Item } from '../items.ts'
import type { Entry } from './records.ts'

/** Milliseconds that streamed text may wait to be written: what a killed process loses at most. */
const WAIT_MS = 50
/** Characters that are written at once. */
const MAX_PENDING = 4096
/** Characters of one item that are journalled; no item shows more of a command's output. */
const MAX_ITEM = 1024 * 1024

interface OpenItem {
  readonly turn: string
  readonly item: Item
  /** What has not been written yet, by part. */
  readonly pending: Map<string, { readonly part: DeltaPart; text: string }>
  begun: boolean
  length: number
}

/**
 * Text of items that still grow, written every now and then so that a killed process loses little of it. An item's own
 * record takes the place of all of it.
 */
export class Journal {
  readonly #write: (entry: Extract<Entry, { t: 'part' }>) => void
  readonly #open = new Map<string, OpenItem>()
  #pending = 0
  #timer: NodeJS.Timeout | null = null

  constructor(write: (entry: Extract<Entry, { t: 'part' }>) => void) {
    this.#write = write
  }

  /** Takes one delta of an open item. `item` is the item as it started. */
  add(turn: string, item: Item, { part, delta }: { readonly part: DeltaPart; readonly delta: string }): void {
    const open = this.#opened(turn, item)
    if (delta === '' || open.length >= MAX_ITEM) return
    const key = 'index' in part ? `${part.type} ${part.index}` : part.type
    const pending = open.pending.get(key)
    if (pending) pending.text += delta
    else open.pending.set(key, { part, text: delta })
    open.length += delta.length
    this.#pending += delta.length
    if (this.#pending >= MAX_PENDING) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), WAIT_MS).unref()
  }

  /** An item is complete: what is left of it need not be written. */
  settle(itemId: string): void {
    const open = this.#open.get(itemId)
    if (!open) return
    for (const { text } of open.pending.values()) this.#pending -= text.length
    this.#open.delete(itemId)
  }

  /** Forgets everything that has not been written. */
  stop(): void {
    this.#open.clear()
    this.#pending = 0
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }

  #opened(turn: string, item: Item): OpenItem {
    let open = this.#open.get(item.id)
    if (!open) {
      open = { turn, item, pending: new Map(), begun: false, length: 0 }
      this.#open.set(item.id, open)
    }
    return open
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#pending = 0
    for (const [id, open] of this.#open) {
      for (const { part, text } of open.pending.values()) {
        const start = open.begun ? null : open.item
        open.begun = true
        this.#write({ t: 'part', turn: open.turn, item: id, start, part, text })
      }
      open.pending.clear()
    }
  }
}
