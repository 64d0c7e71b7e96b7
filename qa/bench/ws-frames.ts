import { randomBytes } from 'node:crypto'

export const TEXT = 1
export const CLOSE = 8
export const PING = 9
export const PONG = 10

/** A frame as a client must send it: final and masked. */
export function encodeFrame(op: number, payload: Buffer): Buffer {
  const mask = randomBytes(4)
  const masked = Buffer.from(payload)
  for (let i = 0; i < masked.length; i += 1) masked[i] = (masked[i] ?? 0) ^ (mask[i & 3] ?? 0)
  return Buffer.concat([header(op, payload.length), mask, masked])
}

function header(op: number, length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | op, 0x80 | length])
  if (length < 65_536) return Buffer.from([0x80 | op, 0xfe, length >> 8, length & 255])
  const long = Buffer.alloc(10)
  long[0] = 0x80 | op
  long[1] = 0xff
  long.writeBigUInt64BE(BigInt(length), 2)
  return long
}

/** Cuts a server's bytes into whole messages and control frames (op, body). */
export class FrameReader {
  readonly #take: (op: number, body: Buffer) => void
  #rest: Buffer | null = null
  #parts: Buffer[] = []

  constructor(take: (op: number, body: Buffer) => void) {
    this.#take = take
  }

  push(chunk: Buffer): void {
    const all = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk
    let from = 0
    for (let next = this.#one(all, from); next > from; next = this.#one(all, from)) from = next
    this.#rest = from < all.length ? all.subarray(from) : null
  }

  /** Takes the frame at `from`; gives where the next one begins, `from` itself when it is not complete yet. */
  #one(all: Buffer, from: number): number {
    if (all.length - from < 2) return from
    const first = all.readUInt8(from)
    let length = all.readUInt8(from + 1) & 127
    const start = from + (length === 127 ? 10 : length === 126 ? 4 : 2)
    if (all.length < start) return from
    if (length === 126) length = all.readUInt16BE(from + 2)
    else if (length === 127) length = Number(all.readBigUInt64BE(from + 2))
    if (all.length < start + length) return from
    this.#frame(first & 15, (first & 128) !== 0, all.subarray(start, start + length))
    return start + length
  }

  #frame(op: number, final: boolean, body: Buffer): void {
    if (op >= CLOSE || (final && op !== 0)) return this.#take(op, body)
    this.#parts.push(Buffer.from(body))
    if (!final) return
    const whole = Buffer.concat(this.#parts)
    this.#parts = []
    this.#take(TEXT, whole)
  }
}
