/** The longest line that is kept, without its line feed. */
export const MAX_LINE = 64 * 1024 * 1024

/** One line's text, or the number of bytes of a line that was dropped because it was longer than the limit. */
export type Line = string | number

/** Pieces smaller than this are copied together, so that a line sent byte by byte costs no more than its bytes. */
const BLOCK = 16 * 1024

const LF = 0x0a
const CR = 0x0d
const EMPTY = Buffer.alloc(0)

/**
 * Splits bytes into lines at LF or CRLF, however they are cut into chunks, in time proportional to their number. Holds at
 * most `limit` bytes. Bytes that are not UTF-8 become U+FFFD; a byte order mark at the start of a line is left out.
 */
export class LineSplitter {
  readonly #limit: number
  /** What has come of the line that is not complete yet; `#room` is the free end of the last block. */
  #parts: Buffer[] = []
  #room: Buffer = EMPTY
  #length = 0

  constructor(limit: number = MAX_LINE) {
    this.#limit = limit
  }

  /** Takes the next bytes and gives the lines they complete. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = []
    let start = 0
    for (let lf = chunk.indexOf(LF); lf >= 0; lf = chunk.indexOf(LF, start)) {
      lines.push(this.#line(chunk.subarray(start, lf)))
      start = lf + 1
    }
    this.#keep(chunk.subarray(start))
    return lines
  }

  /** The input is over: gives what came after the last line feed, if anything did. */
  end(): readonly Line[] {
    return this.#length === 0 ? [] : [this.#line(EMPTY)]
  }

  #line(last: Buffer): Line {
    const length = this.#length + last.length
    const before = this.#takeParts()
    if (length > this.#limit) return length
    return lineText(before.length === 0 ? last : Buffer.concat([...before, last], length))
  }

  #keep(part: Buffer): void {
    this.#length += part.length
    if (this.#length > this.#limit) this.#parts = []
    else if (part.length < BLOCK) this.#copy(part)
    else {
      this.#seal()
      this.#parts.push(part)
    }
  }

  #copy(part: Buffer): void {
    let left = part
    while (left.length > 0) {
      if (this.#room.length === 0) {
        this.#room = Buffer.allocUnsafe(BLOCK)
        this.#parts.push(this.#room)
      }
      const copied = left.copy(this.#room)
      this.#room = this.#room.subarray(copied)
      left = left.subarray(copied)
    }
  }

  /** Cuts the unused end off the last block. */
  #seal(): void {
    const last = this.#parts.at(-1)
    if (last && this.#room.length > 0)
      this.#parts[this.#parts.length - 1] = last.subarray(0, last.length - this.#room.length)
    this.#room = EMPTY
  }

  #takeParts(): readonly Buffer[] {
    this.#seal()
    const parts = this.#parts
    this.#parts = []
    this.#length = 0
    return parts
  }
}

function lineText(bytes: Buffer): string {
  const start = bytes.length >= 3 && bytes.readUIntBE(0, 3) === 0xefbbbf ? 3 : 0
  const end = bytes.at(-1) === CR ? bytes.length - 1 : bytes.length
  return bytes.toString('utf8', start, end)
}
