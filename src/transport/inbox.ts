import type { ChannelHandlers } from '../rpc/channel.ts'
import type { Line } from './lines.ts'

/** Where incoming messages come from, as far as an inbox can slow it down. */
export interface Source {
  pause(): void
  resume(): void
}

/**
 * Between a transport and its session: delivers in order, and holds what one chunk brought when the session pauses in the
 * middle of it. Holds no more than that, because its source is paused too. Closed until `open`.
 */
export class Inbox {
  readonly #source: Source
  #handlers: ChannelHandlers | null = null
  #waiting: Line[] = []
  #paused = false
  #delivering = false
  #ended: 'no' | 'yes' | 'told' = 'no'
  #closed = false

  constructor(source: Source) {
    this.#source = source
  }

  /** Starts delivery, with what has come already. */
  open(handlers: ChannelHandlers): void {
    this.#handlers = handlers
    if (this.#closed) handlers.closed()
    else this.#deliver()
  }

  push(lines: readonly Line[]): void {
    if (this.#closed || this.#ended !== 'no') return
    for (const line of lines) this.#waiting.push(line)
    this.#deliver()
  }

  /** The peer will send no more: told after the last message. */
  end(): void {
    if (this.#ended === 'no') this.#ended = 'yes'
    this.#deliver()
  }

  /** The peer has gone: what was not delivered is void. Told once. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting = []
    this.#handlers?.closed()
  }

  /** The transport has room again. */
  drain(): void {
    if (!this.#closed) this.#handlers?.drain()
  }

  pause(): void {
    this.#paused = true
    this.#source.pause()
  }

  resume(): void {
    this.#paused = false
    this.#deliver()
    if (!this.#paused && !this.#closed) this.#source.resume()
  }

  #deliver(): void {
    if (this.#delivering || !this.#handlers) return
    this.#delivering = true
    try {
      this.#pump(this.#handlers)
    } finally {
      this.#delivering = false
    }
  }

  #pump(handlers: ChannelHandlers): void {
    let next = 0
    try {
      while (next < this.#waiting.length && !this.#paused) {
        const line = this.#waiting[next++]!
        if (typeof line === 'string') handlers.message(line)
        else handlers.oversized(line)
      }
    } finally {
      this.#waiting = this.#waiting.slice(next)
    }
    if (this.#ended === 'yes' && !this.#paused && !this.#closed) this.#tellEnd(handlers)
  }

  #tellEnd(handlers: ChannelHandlers): void {
    this.#ended = 'told'
    if (handlers.ended) handlers.ended()
    else this.close()
  }
}
