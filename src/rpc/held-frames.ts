import type { Frame } from './frame.ts'

/** A merged notification this big takes no more: one huge frame would keep a peer from answering pings. */
const MERGED_MAX = 256 * 1024

interface Held {
  frame: Frame
  /** Bytes counted for it: exact when it came, an upper bound after merging. */
  size: number
  /** May still take the next frame. */
  open: boolean
}

/** The frames that one lagging peer has not been sent yet, oldest first. Adjacent ones with equal merge keys become one. */
export class HeldFrames {
  #frames: Held[] = []
  #first = 0
  #noticeBytes = 0
  #replyBytes = 0

  /** Number of frames. */
  get size(): number {
    return this.#frames.length - this.#first
  }

  /** Bytes of notifications, about. */
  get noticeBytes(): number {
    return this.#noticeBytes
  }

  /** Bytes of responses, exact. */
  get replyBytes(): number {
    return this.#replyBytes
  }

  /** `frame` must have been encoded once without an error. */
  add(frame: Frame): void {
    const size = frame.bytes.length
    this.#count(frame, size)
    const last = this.#frames.at(-1)
    if (last && this.size > 0 && joins(last, frame)) this.#join(last, frame, size)
    else this.#frames.push({ frame, size, open: frame.merge !== null })
  }

  /** Takes the oldest frame out. There must be one. */
  take(): Frame {
    const { frame, size } = this.#frames[this.#first++]!
    this.#count(frame, -size)
    if (this.#first > 1024 && this.#first * 2 > this.#frames.length) {
      this.#frames = this.#frames.slice(this.#first)
      this.#first = 0
    }
    return frame
  }

  clear(): void {
    this.#frames = []
    this.#first = 0
    this.#noticeBytes = 0
    this.#replyBytes = 0
  }

  /**
   * Merging drops an envelope, so the sum of the sizes grows much faster than the real size. Encoding after every merge would
   * cost the square of the text; doing it once per `MERGED_MAX` summed bytes costs about as much as encoding each part.
   */
  #join(last: Held, next: Frame, size: number): void {
    last.frame = last.frame.merge?.join(next) ?? next
    last.size += size
    if (last.size <= MERGED_MAX) return
    const exact = last.frame.bytes.length
    this.#count(last.frame, exact - last.size)
    last.size = exact
    last.open = exact <= MERGED_MAX / 2
  }

  #count(frame: Frame, bytes: number): void {
    if (frame.method === null) this.#replyBytes += bytes
    else if (!frame.request) this.#noticeBytes += bytes
  }
}

function joins(last: Held, next: Frame): boolean {
  return last.open && next.merge !== null && last.frame.merge?.key === next.merge.key
}
