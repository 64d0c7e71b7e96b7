import type { After } from '../rpc/timer.ts'

/** Enough for a long turn; older ones are forgotten, because most clients never look back. */
const MAX_KEPT = 10_000

interface Waiter<T> {
  fits(message: T): boolean
  resolve(message: T): void
  reject(error: Error): void
  stop(): void
}

/** Messages that came unasked, each for the first who waits for one like it, before or after it comes. */
export class Backlog<T> {
  readonly #after: After
  readonly #waiters = new Set<Waiter<T>>()
  #kept: T[] = []
  #ended: Error | null = null

  constructor(after: After) {
    this.#after = after
  }

  add(message: T): void {
    for (const waiter of this.#waiters) {
      if (!waiter.fits(message)) continue
      this.#settle(waiter)
      waiter.resolve(message)
      return
    }
    this.#kept.push(message)
    if (this.#kept.length > 2 * MAX_KEPT) this.#kept = this.#kept.slice(-MAX_KEPT)
  }

  /** Takes the oldest that fits, or waits up to `ms` milliseconds for one; `what` names it in the error. */
  next(fits: (message: T) => boolean, ms: number, what: string): Promise<T> {
    const at = this.#kept.findIndex(fits)
    if (at >= 0) return Promise.resolve(this.#kept.splice(at, 1)[0]!)
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise((resolve, reject) => {
      const late = (): void => {
        this.#settle(waiter)
        reject(new Error(`${what} did not come within ${ms} ms`))
      }
      const waiter: Waiter<T> = { fits, resolve, reject, stop: this.#after(ms, late) }
      this.#waiters.add(waiter)
    })
  }

  /** Nothing more will come. */
  end(error: Error): void {
    this.#ended = error
    for (const waiter of this.#waiters) {
      this.#settle(waiter)
      waiter.reject(error)
    }
  }

  #settle(waiter: Waiter<T>): void {
    waiter.stop()
    this.#waiters.delete(waiter)
  }
}
