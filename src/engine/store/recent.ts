/** Milliseconds for which the last value is kept after it was last asked for. */
const KEEP_MS = 10_000

/** The last value made, for a while: a client that pages through a thread asks for the same again and again. */
export class Recent<T extends object> {
  #kept: { readonly key: string; readonly value: T } | null = null
  #timer: NodeJS.Timeout | null = null

  get(key: string): T | null {
    if (this.#kept?.key !== key) return null
    this.#timer?.refresh()
    return this.#kept.value
  }

  /** Keeps `value` in the place of the one before, and returns it. */
  keep<V extends T | null>(key: string, value: V): V {
    this.forget()
    if (value === null) return value
    this.#kept = { key, value }
    this.#timer = setTimeout(() => this.forget(), KEEP_MS).unref()
    return value
  }

  forget(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#kept = null
  }
}
