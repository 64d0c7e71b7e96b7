/**
 * Keeps tasks of one lane in order, one at a time, in the order they were given. Lanes do not wait for each other. How many
 * may wait is the caller's business: a session stops reading long before it matters.
 */
export class Lanes {
  /** Tasks waiting per busy lane; a lane with nothing to do has no entry. */
  readonly #waiting = new Map<string, (() => void)[]>()

  /**
   * Runs `task` in `lane`, or at once where `lane` is null. A task whose turn it is starts before `run` returns. A task that
   * throws rejects its own promise only.
   */
  run<T>(lane: string | null, task: () => T | Promise<T>): Promise<T> {
    if (lane === null) return start(task)
    const waiting = this.#waiting.get(lane)
    if (waiting === undefined) {
      this.#waiting.set(lane, [])
      return this.#occupy(lane, task)
    }
    return new Promise(resolve => {
      waiting.push(() => resolve(this.#occupy(lane, task)))
    })
  }

  /** Number of lanes in use. */
  get busy(): number {
    return this.#waiting.size
  }

  async #occupy<T>(lane: string, task: () => T | Promise<T>): Promise<T> {
    try {
      return await task()
    } finally {
      this.#leave(lane)
    }
  }

  #leave(lane: string): void {
    const next = this.#waiting.get(lane)?.shift()
    if (next) next()
    else this.#waiting.delete(lane)
  }
}

async function start<T>(task: () => T | Promise<T>): Promise<T> {
  return await task()
}
