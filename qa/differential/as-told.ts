import { isObject } from '../../src/base/json.ts'
import { dig } from '../kit/dig.ts'
import type { Line } from './recording.ts'

interface ToldTurn {
  /** Ids of its items in the order in which they started. */
  readonly order: string[]
  readonly completed: Map<string, Record<string, unknown>>
  end: { readonly status: unknown; readonly error: unknown } | null
}

/**
 * What the notifications of a golden have said of its turns so far. The real codex forgets part of it: its history is without
 * commands, takes failed turns for completed ones and numbers items anew. This gives a history as it was told.
 */
export class ToldTurns {
  readonly #turns = new Map<string, ToldTurn>()

  /** Takes a notification into account; anything else is passed over. */
  hear({ dir, msg }: Line): void {
    if (dir !== 's2c') return
    const turnId = dig(msg, 'params.turnId') ?? dig(msg, 'params.turn.id')
    if (typeof turnId !== 'string') return
    const item = dig(msg, 'params.item')
    switch (dig(msg, 'method')) {
      case 'item/started':
      case 'item/completed':
        if (isObject(item)) this.#item(this.#turn(turnId), item, dig(msg, 'method') === 'item/completed')
        return
      case 'turn/completed':
        this.#turn(turnId).end = { status: dig(msg, 'params.turn.status'), error: dig(msg, 'params.turn.error') }
    }
  }

  /** The same value with every turn of a history in it as it was told. */
  retell(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(entry => this.retell(entry))
    if (!isObject(value)) return value
    const told = this.#turns.get(String(value.id))
    if (told && Array.isArray(value.items) && (value.itemsView === 'full' || value.itemsView === 'summary')) {
      return { ...value, items: itemsOf(told, value.items, value.itemsView === 'full'), ...told.end }
    }
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, this.retell(entry)]))
  }

  #turn(id: string): ToldTurn {
    const turn = this.#turns.get(id) ?? { order: [], completed: new Map(), end: null }
    this.#turns.set(id, turn)
    return turn
  }

  #item(turn: ToldTurn, item: Record<string, unknown>, isComplete: boolean): void {
    const id = String(item.id)
    if (!turn.order.includes(id)) turn.order.push(id)
    if (isComplete) turn.completed.set(id, item)
  }
}

/** The items that completed, each in the place of the golden's own; what was not told stays behind them. */
function itemsOf(told: ToldTurn, items: readonly unknown[], isWhole: boolean): readonly unknown[] {
  const left = [...items]
  const made: unknown[] = []
  for (const id of told.order) {
    const item = told.completed.get(id)
    if (!item) continue
    const isKept = left.length > 0 && isSame(left[0], item)
    if (isKept) left.shift()
    if (isKept || isWhole) made.push(item)
  }
  return [...made, ...left]
}

/** Ids differ, and a history may lack part of an item; of texts there may be several. */
const isSame = (kept: unknown, told: Record<string, unknown>): boolean =>
  dig(kept, 'type') === told.type && (told.type !== 'agentMessage' || dig(kept, 'text') === told.text)
