import type { DeltaPart, Item } from './items.ts'
import type { Entry } from './store/records.ts'

type PartRecord = Extract<Entry, { t: 'part' }>

interface Partial {
  readonly turn: string
  readonly start: Item
  /** Text so far by kind of part, then by its index. */
  readonly texts: Record<DeltaPart['type'], string[]>
}

/** Items whose text has been journalled but that never completed: what a process had said when it was killed. */
export class PartialItems {
  readonly #items = new Map<string, Partial>()

  has(id: string): boolean {
    return this.#items.has(id)
  }

  /** Takes a journalled piece of text. A piece of an item whose start has been lost is passed over. */
  add({ turn, item: id, start, part, text }: PartRecord): void {
    let partial = this.#items.get(id)
    if (!partial) {
      if (!start) return
      partial = { turn, start, texts: { text: [], plan: [], summary: [], reasoning: [], output: [] } }
      this.#items.set(id, partial)
    }
    const texts = partial.texts[part.type]
    const index = 'index' in part ? part.index : 0
    texts[index] = (texts[index] ?? '') + text
  }

  /** The item has completed after all. */
  settle(id: string): void {
    this.#items.delete(id)
  }

  /** The turn has its end: what was open in it no longer matters. */
  drop(turn: string): void {
    for (const [id, partial] of this.#items) if (partial.turn === turn) this.#items.delete(id)
  }

  clear(): void {
    this.#items.clear()
  }

  /** The open items of a turn in the order they started, with what came of them. */
  of(turn: string): readonly Item[] {
    return [...this.#items.values()].filter(partial => partial.turn === turn).map(cutShort)
  }
}

/** An item as it stood when everything stopped. */
function cutShort({ start, texts }: Partial): Item {
  switch (start.type) {
    case 'agentMessage':
      return { ...start, text: start.text + joined(texts.text) }
    case 'plan':
      return { ...start, text: start.text + joined(texts.plan) }
    case 'reasoning':
      return { ...start, summary: dense(texts.summary), content: dense(texts.reasoning) }
    case 'command':
      return { ...start, status: 'failed', output: joined(texts.output) || null }
    default:
      return start
  }
}

const joined = (texts: readonly string[]): string => texts.join('')

const dense = (texts: readonly string[]): string[] => Array.from(texts, text => text ?? '')
