import { isObject } from '../../src/base/json.ts'

/**
 * Watches the frames of one connection: a turn ends once, and nothing that happens in it comes after its end. What is only
 * about a turn may come later: a client that resumes a thread is told the usage of the last one.
 */
export class TurnEnds {
  readonly #ended = new Set<string>()

  /** Takes a notification; gives what is wrong with its moment, or null. */
  take(method: string, params: unknown): string | null {
    const id = /^(turn|item)\/|^error$/.test(method) ? turnOf(params) : null
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
