import type { Link } from '../kit/link.ts'

/** One client of a story: its link and what has come over it that no line has dealt with yet. */
export class Client {
  readonly name: string
  /** Every frame that came, for a failure's report. */
  readonly history: string[] = []
  readonly #link: Link
  readonly #pending: unknown[] = []
  readonly #ignored: ReadonlySet<string>
  #closedBy: string | null = null
  #wake: () => void = () => {}

  constructor(name: string, link: Link, ignored: ReadonlySet<string>) {
    this.name = name
    this.#link = link
    this.#ignored = ignored
    link.open({
      message: text => this.#take(text),
      closed: how => {
        this.#closedBy = how
        this.#wake()
      },
    })
  }

  /** How the link ended; null while it is open. */
  get closedBy(): string | null {
    return this.#closedBy
  }

  get pending(): readonly unknown[] {
    return this.#pending
  }

  send(text: string): void {
    this.history.push(`> ${text}`)
    this.#link.send(text)
  }

  end(): void {
    this.#link.end()
  }

  cut(): void {
    this.#link.cut()
  }

  /** The next frame without taking it; undefined when none comes in `ms` milliseconds or the link closes first. */
  async peek(ms: number): Promise<unknown> {
    if (this.#pending.length === 0 && this.#closedBy === null) await this.#news(ms)
    return this.#pending[0]
  }

  /** Drops the frame that `peek` gave. */
  take(): void {
    this.#pending.shift()
  }

  /** Waits until the link is closed; gives how, or null after `ms` milliseconds. */
  async closed(ms: number): Promise<string | null> {
    const end = Date.now() + ms
    while (this.#closedBy === null && Date.now() < end) await this.#news(end - Date.now())
    return this.#closedBy
  }

  #take(text: string): void {
    this.history.push(`< ${text}`)
    const frame = parse(text)
    const method = typeof frame === 'object' && frame !== null && 'method' in frame ? String(frame.method) : ''
    if (this.#ignored.has(method)) return
    this.#pending.push(frame)
    this.#wake()
  }

  #news(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { 'not JSON': text }
  }
}
