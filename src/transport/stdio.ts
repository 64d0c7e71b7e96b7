import type { Readable, Writable } from 'node:stream'
import type { Channel, ChannelHandlers } from '../rpc/channel.ts'
import type { Frame } from '../rpc/frame.ts'
import { Inbox } from './inbox.ts'
import { LineSplitter } from './lines.ts'

/**
 * One JSON object a line over two streams: a server's stdin and stdout, or a client's child. The end of `input` is `ended`;
 * the end of `output`, EPIPE included, is `closed`. Nobody else may write to `output`. Exactly one `open`.
 */
export function stdioChannel(input: Readable, output: Writable): Channel {
  return new StdioChannel(input, output)
}

class StdioChannel implements Channel {
  readonly transport = 'stdio'
  readonly path = null
  readonly #input: Readable
  readonly #output: Writable
  readonly #lines = new LineSplitter()
  readonly #inbox: Inbox
  #closing = false

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.#inbox = new Inbox(input)
    // Listened to before `open`, so that an early EPIPE is no uncaught exception.
    output.on('error', () => this.#gone())
    output.on('close', () => this.#gone())
    input.on('error', () => this.#end())
  }

  get buffered(): number {
    return this.#output.writableLength
  }

  open(handlers: ChannelHandlers): void {
    this.#output.on('drain', () => this.#inbox.drain())
    this.#input.on('data', (chunk: Buffer) => this.#inbox.push(this.#lines.push(chunk)))
    this.#input.on('end', () => this.#end())
    this.#input.on('close', () => this.#end())
    this.#inbox.open(handlers)
  }

  send(frame: Frame): void {
    if (!this.#closing) this.#output.write(frame.bytes)
  }

  cork(): void {
    this.#output.cork()
  }

  uncork(): void {
    this.#output.uncork()
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  /** Ends both streams. `closed` comes when the output has been taken or has failed; a peer that never reads delays it. */
  close(): void {
    if (this.#closing) return
    this.#closing = true
    this.#input.destroy()
    this.#output.end(() => this.#inbox.close())
  }

  #end(): void {
    if (this.#closing) return
    this.#inbox.push(this.#lines.end())
    this.#inbox.end()
  }

  #gone(): void {
    this.#closing = true
    this.#input.destroy()
    this.#inbox.close()
  }
}
