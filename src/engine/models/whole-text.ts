import { text } from './fields.ts'

/** Joins what a stream cut in the middle of a character: half a surrogate pair waits for the other half. */
export class WholeText {
  #half = ''

  /** What can be shown of `delta` now. */
  push(delta: string): string {
    const last = delta.charCodeAt(delta.length - 1)
    if (this.#half === '' && !(last >= 0xd800 && last < 0xdc00)) return text(delta)
    const joined = this.#half + delta
    const cut = last >= 0xd800 && last < 0xdc00 ? joined.length - 1 : joined.length
    this.#half = joined.slice(cut)
    return text(joined.slice(0, cut))
  }
}
