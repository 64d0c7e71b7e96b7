import { isObject } from '../../base/json.ts'

/** The parts of a detail that come in pieces; its other fields are set when they come. */
const PIECES: readonly string[] = ['text', 'summary', 'data']

/**
 * Collects OpenRouter's `reasoning_details`, which must be sent back as if they had come whole: pieces of one entry (same
 * `index`, same `type`) are joined, everything else is kept verbatim.
 */
export class ReasoningDetails {
  #details: Record<string, unknown>[] = []

  add(pieces: readonly unknown[]): void {
    for (const piece of pieces) if (isObject(piece)) this.#join(piece)
  }

  /** What was collected, and starts anew. */
  take(): readonly unknown[] {
    const details = this.#details
    this.#details = []
    return details
  }

  #join(piece: Record<string, unknown>): void {
    const last = this.#details.at(-1)
    if (!last || piece.index === undefined || last.index !== piece.index || last.type !== piece.type) {
      this.#details.push({ ...piece })
      return
    }
    for (const [name, value] of Object.entries(piece)) {
      const before = last[name]
      if (PIECES.includes(name) && typeof value === 'string' && typeof before === 'string') last[name] = before + value
      else if (value !== null && name !== '__proto__') last[name] = value
    }
  }
}
