import type { Channel, ChannelHandlers } from '../rpc/channel.ts'
import type { Frame } from '../rpc/frame.ts'
import { Inbox } from './inbox.ts'

/** As for a socket: only who had more than this unread is told of room. */
const HIGH_WATER = 16 * 1024

/** Two channels, each the other's peer, in one process and without a socket. A message arrives after the current step. */
export function memoryPair(path: string | null = null): readonly [Channel, Channel] {
  const one = new MemoryChannel(path)
  const other = new MemoryChannel(path)
  one.link(other)
  other.link(one)
  return [one, other]
}

class MemoryChannel implements Channel {
  readonly transport = 'memory'
  readonly path: string | null
  readonly #inbox: Inbox
  #peer: MemoryChannel | null = null
  /** What the peer has not taken yet; it takes nothing while it is paused. */
  #sent: string[] = []
  #buffered = 0
  #corks = 0
  #reading = false
  #scheduled = false

  constructor(path: string | null) {
    this.path = path
    this.#inbox = new Inbox({ pause: () => this.#read(false), resume: () => this.#read(true) })
  }

  link(peer: MemoryChannel): void {
    this.#peer = peer
  }

  get buffered(): number {
    return this.#buffered
  }

  open(handlers: ChannelHandlers): void {
    this.#inbox.open(handlers)
    this.#inbox.resume()
  }

  send(frame: Frame): void {
    if (!this.#peer) return
    const { bytes } = frame
    this.#sent.push(bytes.toString('utf8', 0, bytes.length - 1))
    this.#buffered += bytes.length
    this.#schedule()
  }

  cork(): void {
    this.#corks++
  }

  uncork(): void {
    this.#corks--
    this.#schedule()
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  /** The peer still gets what was sent before. */
  close(): void {
    const peer = this.#peer
    if (!peer) return
    this.#peer = null
    queueMicrotask(() => {
      peer.#inbox.push(this.#sent)
      peer.#peer = null
      peer.#inbox.close()
      this.#inbox.close()
    })
  }

  #read(reading: boolean): void {
    this.#reading = reading
    if (reading && this.#peer) this.#peer.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled || this.#corks > 0 || this.#sent.length === 0) return
    this.#scheduled = true
    queueMicrotask(() => {
      this.#scheduled = false
      this.#hand()
    })
  }

  #hand(): void {
    if (this.#peer === null || !this.#peer.#reading || this.#corks > 0 || this.#sent.length === 0) return
    const sent = this.#sent
    const full = this.#buffered > HIGH_WATER
    this.#sent = []
    this.#buffered = 0
    this.#peer.#inbox.push(sent)
    if (full) this.#inbox.drain()
  }
}
