import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Channel, ChannelHandlers } from '../rpc/channel.ts'
import type { Frame } from '../rpc/frame.ts'
import { Inbox } from './inbox.ts'
import type { TextFrames } from './text-frames.ts'

/** The biggest message a peer may send; a bigger one closes the connection with 1009. */
export const MAX_MESSAGE = 64 * 1024 * 1024

/** How long the peer has to answer our close frame before the socket is cut. */
export const CLOSE_TIMEOUT_MS = 5000

/** Pings of a peer that leaves more than this unread are not answered, so that they cannot fill the memory. */
const PONG_HIGH_WATER = 1024 * 1024

/** A close frame has room for 125 bytes, two of them the code. */
const MAX_REASON = 123

/** An open WebSocket and what it came over. */
export interface Upgraded {
  readonly ws: WebSocket
  readonly socket: Duplex
  readonly transport: 'websocket' | 'unix'
  readonly path: string | null
  /** How a server writes. Null for a client, whose frames must be masked: then ws writes them. */
  readonly frames: TextFrames | null
}

/** One text frame a message, over an open WebSocket. Binary frames are ignored. */
export function webSocketChannel(upgraded: Upgraded): Channel {
  return new WebSocketChannel(upgraded)
}

class WebSocketChannel implements Channel {
  readonly transport: 'websocket' | 'unix'
  readonly path: string | null
  readonly #ws: WebSocket
  readonly #socket: Duplex
  readonly #frames: TextFrames | null
  readonly #inbox: Inbox
  #batch: Frame[] = []
  #batchBytes = 0
  #corks = 0

  constructor({ ws, socket, transport, path, frames }: Upgraded) {
    this.transport = transport
    this.path = path
    this.#ws = ws
    this.#socket = socket
    this.#frames = frames
    this.#inbox = new Inbox(ws)
    ws.pause() // until `open`
    ws.on('message', (data, binary) => this.#receive(data, binary))
    ws.on('ping', data => this.#pong(data))
    ws.on('error', () => {}) // 'close' follows
    ws.on('close', () => this.#inbox.close())
    socket.on('drain', () => this.#inbox.drain())
  }

  get buffered(): number {
    return this.#batchBytes + this.#ws.bufferedAmount
  }

  open(handlers: ChannelHandlers): void {
    this.#inbox.open(handlers)
    this.#inbox.resume()
  }

  send(frame: Frame): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#batchBytes += frame.bytes.length
    this.#batch.push(frame)
    if (this.#corks === 0) this.#flush()
  }

  cork(): void {
    this.#corks++
  }

  uncork(): void {
    if (--this.#corks === 0) this.#flush()
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  close(code: number, reason: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    this.#flush()
    this.#ws.close(code, shorten(reason))
    this.#ws.resume() // else the peer's close frame is never read
  }

  #flush(): void {
    const batch = this.#batch
    this.#batch = []
    this.#batchBytes = 0
    if (batch.length === 0 || this.#ws.readyState !== this.#ws.OPEN) return
    this.#socket.cork()
    if (this.#frames) for (const chunk of this.#frames.encode(batch)) this.#socket.write(chunk)
    else for (const { bytes } of batch) this.#ws.send(bytes.subarray(0, -1), { binary: false })
    this.#socket.uncork()
  }

  #receive(data: RawData, binary: boolean): void {
    if (!binary && this.#ws.readyState === this.#ws.OPEN) this.#inbox.push([data.toString()])
  }

  #pong(data: Buffer): void {
    if (this.#ws.readyState === this.#ws.OPEN && this.buffered < PONG_HIGH_WATER) this.#ws.pong(data)
  }
}

function shorten(reason: string): string {
  let short = reason
  while (Buffer.byteLength(short) > MAX_REASON) short = short.slice(0, -1)
  return short
}
