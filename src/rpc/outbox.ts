import type { Channel } from './channel.ts'
import type { Frame } from './frame.ts'
import { HeldFrames } from './held-frames.ts'
import type { After } from './timer.ts'
import { systemAfter } from './timer.ts'

/** Above this many bytes not yet taken by the operating system, frames wait here, where they can still be merged. */
export const HIGH_WATER = 1024 * 1024

/** Above this many bytes of waiting notifications a peer has `GRACE_MS` to catch up. */
export const LIMIT = 64 * 1024 * 1024

/** Long enough for a laptop to wake up, short enough that a dead reader does not hold memory. */
export const GRACE_MS = 10_000

/** WebSocket close code "try again later". */
export const SLOW_CODE = 1013

export interface OutboxOptions {
  /** For the grace period. */
  readonly after?: After
  /** When this tick's frames are written. */
  readonly defer?: (flush: () => void) => void
  /** A frame that could not be encoded was left out: a bug of ours. */
  readonly report?: (error: unknown, method: string | null) => void
}

/**
 * The last room before the socket. Gathers the frames of one turn of the event loop into one write, and keeps back what a
 * lagging peer cannot take. Only notifications ever close a connection; responses and requests wait as long as it takes.
 */
export class Outbox {
  readonly #channel: Channel
  readonly #after: After
  readonly #defer: (flush: () => void) => void
  readonly #report: (error: unknown, method: string | null) => void
  readonly #held = new HeldFrames()
  #optOut: ReadonlySet<string> = new Set()
  #corked = false
  #closed = false
  #endGrace: (() => void) | null = null

  constructor(channel: Channel, options: OutboxOptions = {}) {
    this.#channel = channel
    this.#after = options.after ?? systemAfter
    // Measured, 50 sockets, CPU per frame: a burst costs the same with nextTick, queueMicrotask and setImmediate (0.4 us); eight
    // models that stream at their own pace cost 2.0 us with setImmediate, which waits for all reads of this turn of the loop,
    // 3.5 us with nextTick; an async generator costs 10 us with queueMicrotask, 1 us with the others. A lone answer comes no
    // later with setImmediate (58-69 us there and back, the others 58-71).
    this.#defer = options.defer ?? setImmediate
    this.#report = options.report ?? (() => {})
  }

  /** Notifications with these methods are no longer sent. Requests and responses are not affected. */
  set optOut(methods: ReadonlySet<string>) {
    this.#optOut = methods
  }

  /** Whether notifications with this method are sent. */
  wants(method: string | null): boolean {
    return !this.#optOut.has(method ?? '')
  }

  /** Responses pile up because this peer does not read them: stop reading its requests until `drain` clears it. */
  get busy(): boolean {
    return this.#held.replyBytes > HIGH_WATER
  }

  /** Hands one frame over or keeps it. Never blocks, never throws; after a close it does nothing. */
  post(frame: Frame): void {
    if (this.#closed || (isNotification(frame) && this.#optOut.has(frame.method ?? ''))) return
    if (this.#held.size === 0 && this.#channel.buffered <= HIGH_WATER) this.#send(frame)
    else this.#hold(frame)
  }

  /** The channel has room again; its owner passes that on. */
  drain(): void {
    while (this.#held.size > 0 && this.#channel.buffered <= HIGH_WATER && !this.#closed) this.#send(this.#held.take())
    if (this.#held.noticeBytes <= LIMIT) this.#stopGrace()
  }

  /** Hands over everything that waits, then closes the channel. */
  close(code: number, reason: string): void {
    while (this.#held.size > 0 && !this.#closed) this.#send(this.#held.take())
    this.#end(code, reason)
  }

  /** The channel has gone: forgets what waits and every timer. */
  discard(): void {
    this.#closed = true
    this.#held.clear()
    this.#stopGrace()
  }

  #send(frame: Frame): void {
    if (!this.#encodes(frame)) return
    if (!this.#corked) {
      this.#corked = true
      this.#channel.cork()
      this.#defer(() => this.#uncork())
    }
    this.#channel.send(frame)
  }

  #uncork(): void {
    if (!this.#corked) return
    this.#corked = false
    this.#channel.uncork()
  }

  #hold(frame: Frame): void {
    try {
      this.#held.add(frame)
    } catch (error) {
      this.#report(error, frame.method)
    }
    if (!isNotification(frame) || this.#held.noticeBytes <= LIMIT) return
    // A flood may not use the grace period to fill the memory.
    if (this.#held.noticeBytes > 2 * LIMIT) this.#end(SLOW_CODE, 'slow')
    else this.#endGrace ??= this.#after(GRACE_MS, () => this.#graceOver())
  }

  #graceOver(): void {
    this.#endGrace = null
    if (this.#held.noticeBytes > LIMIT) this.#end(SLOW_CODE, 'slow')
  }

  #end(code: number, reason: string): void {
    if (this.#closed) return
    this.#uncork()
    this.discard()
    this.#channel.close(code, reason)
  }

  #stopGrace(): void {
    this.#endGrace?.()
    this.#endGrace = null
  }

  /** Encodes now, so that a frame that cannot be encoded never reaches the channel. */
  #encodes(frame: Frame): boolean {
    try {
      return frame.bytes.length > 0
    } catch (error) {
      this.#report(error, frame.method)
      return false
    }
  }
}

function isNotification(frame: Frame): boolean {
  return frame.method !== null && !frame.request
}
