import { isObject } from '../../src/base/json.ts'

/** Watches the frames of one connection: a turn ends once, and nothing of it comes after its end. */
export class TurnEnds {
  readonly #ended = new Set<string>()

  /** Takes a notification; gives what is wrong with its moment, or null. */
  take(method: string, params: unknown): string | null {
    const id = turnOf(params)
    if (id === null) return null
    if (this.#ended.has(id)) return 'comes after the end of its turn'
    if (method === 'turn/completed') this.#ended.add(id)
    return null
  }
}

function turnOf(params: unknown): string | null {
  if (!isObject(params)) return null
  const id = isObject(params.turn) ? params.turn.id : params.turnId
  return typeof id === 'string' ? id : null
}
