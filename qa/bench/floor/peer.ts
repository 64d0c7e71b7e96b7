import type { Writable } from 'node:stream'

/** Bytes queued for one client above which the model has to wait for it. */
const HIGH_WATER = 1 << 20
/** How long a client may take nothing while others wait for it. */
const STALL_MS = 1000

/** Where a client's frames go, and how a message becomes one. */
export interface Out {
  readonly stream: Writable & { readonly bytesWritten?: number }
  /** Frames of the same kind are made once for all clients. */
  readonly kind: 'line' | 'ws'
}

/** One client: what is sent to it within a tick leaves in one write. */
export class Peer {
  readonly out: Out
  dead = false
  #queue: Buffer[] = []

  constructor(out: Out) {
    this.out = out
  }

  get isCongested(): boolean {
    return !this.dead && this.out.stream.writableLength > HIGH_WATER
  }

  push(frame: Buffer): void {
    if (this.#queue.push(frame) === 1) setImmediate(() => this.#flush())
  }

  send(message: object): void {
    this.push(encode(this.out.kind, JSON.stringify(message)))
  }

  /** Resolves when it has caught up; drops it when it takes nothing for a second. */
  async caughtUp(): Promise<void> {
    if (!this.isCongested) return
    const before = this.#taken()
    const drained = new Promise<void>(resolve => this.out.stream.once('drain', resolve))
    const late = new Promise<void>(resolve => setTimeout(resolve, STALL_MS))
    await Promise.race([drained, late])
    if (this.isCongested && this.out.kind === 'ws' && this.#taken() === before) this.drop()
  }

  drop(): void {
    this.dead = true
    this.#queue = []
    this.out.stream.destroy()
  }

  #taken(): number {
    return (this.out.stream.bytesWritten ?? 0) - this.out.stream.writableLength
  }

  #flush(): void {
    const frames = this.#queue
    this.#queue = []
    const [only] = frames
    if (this.dead || only === undefined) return
    this.out.stream.write(frames.length === 1 ? only : Buffer.concat(frames))
  }
}

/** Sends one message to many clients, encoded once for each kind of them. */
export function fan(peers: Iterable<Peer>, text: string): void {
  let line: Buffer | null = null
  let ws: Buffer | null = null
  for (const peer of peers) {
    if (peer.out.kind === 'line') line ??= encode('line', text)
    else ws ??= encode('ws', text)
    const frame = peer.out.kind === 'line' ? line : ws
    if (frame) peer.push(frame)
  }
}

function encode(kind: Out['kind'], text: string): Buffer {
  if (kind === 'line') return Buffer.from(`${text}\n`)
  const body = Buffer.from(text)
  return Buffer.concat([header(body.length), body])
}

function header(length: number): Buffer {
  if (length < 126) return Buffer.from([0x81, length])
  if (length < 65_536) return Buffer.from([0x81, 126, length >> 8, length & 255])
  const long = Buffer.alloc(10)
  long[0] = 0x81
  long[1] = 127
  long.writeBigUInt64BE(BigInt(length), 2)
  return long
}
