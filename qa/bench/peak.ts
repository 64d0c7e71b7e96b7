import { forgetPeak, peakRss, usageOf } from './proc.ts'

/** The most memory (MiB) a tree of processes was seen with. */
export interface Peaks {
  readonly rss: number
  readonly pss: number
  readonly uss: number
}

/** Looks at a tree of processes every few milliseconds until stopped. */
export class Peak {
  readonly #root: number
  readonly #timer: NodeJS.Timeout
  #seen: Peaks = { rss: 0, pss: 0, uss: 0 }

  constructor(root: number, everyMs = 100) {
    this.#root = root
    forgetPeak(root)
    this.#timer = setInterval(() => this.#look(), everyMs)
  }

  /** Ends it and tells the peaks. For RSS the kernel knows better than any sample. */
  stop(): Peaks {
    clearInterval(this.#timer)
    this.#look()
    return { ...this.#seen, rss: Math.max(this.#seen.rss, peakRss(this.#root)) }
  }

  #look(): void {
    const { rss, pss, uss } = usageOf(this.#root)
    const seen = this.#seen
    this.#seen = { rss: Math.max(seen.rss, rss), pss: Math.max(seen.pss, pss), uss: Math.max(seen.uss, uss) }
  }
}
