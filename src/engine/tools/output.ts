import { StringDecoder } from 'node:string_decoder'

/** Bytes of output that an item carries, as in codex; its beginning streams, its end is kept for the end. */
const HEAD_BYTES = 768 * 1024
const TAIL_BYTES = 256 * 1024

/** Output that comes faster than this is sent on in one piece. */
const MERGE_MS = 15

/** Bytes that count as one token, as codex counts them. */
const TOKEN_BYTES = 4

/**
 * What a command prints, on its way to an item and to the model. Memory is bounded however much it is: of what does not
 * fit the middle is left out, and a line says so. The deltas that were emitted, put together, are exactly the item's
 * output.
 */
export class Output {
  readonly #emit: (delta: string) => void
  readonly #decoder = new StringDecoder('utf8')
  readonly #tail = new Tail(TAIL_BYTES)
  #head = ''
  #headBytes = 0
  #bytes = 0
  #newlines = 0
  #lastByte = 0
  #pending = ''
  #timer: NodeJS.Timeout | null = null
  #result: string | null = null

  /** `emit` is called with each delta, never with an empty one. */
  constructor(emit: (delta: string) => void) {
    this.#emit = emit
  }

  write(chunk: Buffer): void {
    if (this.#result !== null || chunk.length === 0) return
    this.#bytes += chunk.length
    this.#newlines += countNewlines(chunk)
    this.#lastByte = chunk[chunk.length - 1]!
    this.#take(this.#decoder.write(chunk))
  }

  #take(text: string): void {
    const room = HEAD_BYTES - this.#headBytes
    const taken = this.#tail.isEmpty ? startOf(text, room) : ''
    this.#head += taken
    this.#headBytes += Buffer.byteLength(taken)
    this.#tail.push(text.slice(taken.length))
    this.#send(taken)
  }

  #send(text: string): void {
    if (text === '') return
    if (this.#timer) {
      this.#pending += text
      return
    }
    this.#emit(text)
    this.#timer = setTimeout(() => this.#flush(), MERGE_MS)
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    const text = this.#pending
    this.#pending = ''
    this.#send(text)
  }

  /** The end of the output: sends what is still held back and gives the whole, as the item shows it. */
  end(): string {
    if (this.#result !== null) return this.#result
    this.#take(this.#decoder.end())
    const rest = this.#gap() + this.#tail.text
    this.#result = this.#head + rest
    const last = this.#pending + rest
    this.#pending = ''
    if (this.#timer) clearTimeout(this.#timer)
    if (last !== '') this.#emit(last)
    return this.#result
  }

  #gap(): string {
    return this.#tail.dropped > 0 ? `\n[... ${this.#tail.dropped} bytes of output left out ...]\n` : ''
  }

  /** Tokens that the whole output would cost the model, roughly. */
  get tokens(): number {
    return tokensOf(this.#bytes)
  }

  /** The output as the model gets it: whole, or its two ends with codex's marks for what is missing. */
  forModel(maxTokens: number): { readonly text: string; readonly lines: number | null } {
    const whole = this.end()
    const budget = maxTokens * TOKEN_BYTES
    if (this.#bytes <= budget && this.#tail.dropped === 0) return { text: whole, lines: null }
    const left = startOf(this.#head, Math.floor(budget / 2))
    const right = endOf(this.#tail.dropped > 0 ? this.#tail.text : whole, budget - Math.floor(budget / 2))
    const missing = tokensOf(Math.max(0, this.#bytes - Buffer.byteLength(left) - Buffer.byteLength(right)))
    return { text: `${left}…${missing} tokens truncated…${right}`, lines: this.#lines }
  }

  get #lines(): number {
    return this.#newlines + (this.#bytes > 0 && this.#lastByte !== 10 ? 1 : 0)
  }
}

const tokensOf = (bytes: number): number => Math.ceil(bytes / TOKEN_BYTES)

function countNewlines(chunk: Buffer): number {
  let count = 0
  for (let i = 0; i < chunk.length; i++) if (chunk[i] === 10) count++
  return count
}

/** The last bytes of a text that arrives in pieces, cut between characters. Kept as bytes: strings are slow to join. */
class Tail {
  readonly #limit: number
  #pieces: Buffer[] = []
  #bytes = 0
  #dropped = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  get dropped(): number {
    this.#cut(this.#limit)
    return this.#dropped
  }

  get text(): string {
    this.#cut(this.#limit)
    return Buffer.concat(this.#pieces).toString('utf8')
  }

  push(text: string): void {
    if (text === '') return
    const piece = Buffer.from(text)
    this.#pieces.push(piece)
    this.#bytes += piece.length
    // Cutting copies, so it is done once per limit's worth of text and not with every piece.
    this.#cut(this.#limit * 2)
  }

  #cut(over: number): void {
    if (this.#bytes <= over) return
    const kept = endBytes(Buffer.concat(this.#pieces), this.#limit)
    this.#dropped += this.#bytes - kept.length
    this.#bytes = kept.length
    this.#pieces = [Buffer.from(kept)]
  }
}

/** The longest start of `text` that takes at most `limit` bytes, cut between characters. */
function startOf(text: string, limit: number): string {
  if (limit <= 0) return ''
  if (text.length * 3 <= limit) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  let end = limit
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** The longest end of `text` that takes at most `limit` bytes, cut between characters. */
const endOf = (text: string, limit: number): string =>
  limit <= 0 ? '' : endBytes(Buffer.from(text), limit).toString('utf8')

function endBytes(bytes: Buffer, limit: number): Buffer {
  let start = Math.max(0, bytes.length - limit)
  while (start > 0 && start < bytes.length && (bytes[start]! & 0xc0) === 0x80) start++
  return bytes.subarray(start)
}
