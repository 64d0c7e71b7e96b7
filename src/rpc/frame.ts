/** How two adjacent frames of one stream become one when a peer lags: same key, then `join`. */
export interface Merge {
  readonly key: string
  join(next: Frame): Frame
}

/** One outgoing message, encoded at most once however many peers it goes to, and never if it goes to none. */
export class Frame {
  #bytes: Buffer | undefined
  readonly #encode: () => string
  /** Notification or server-request method; null for a response. */
  readonly method: string | null
  readonly merge: Merge | null
  /** Whether it is a server request: never opted out of, never a reason to close. */
  readonly request: boolean

  /** `encode` gives the message's JSON text, without a line feed. */
  constructor(encode: () => string, method: string | null = null, merge: Merge | null = null, request = false) {
    this.#encode = encode
    this.method = method
    this.merge = merge
    this.request = request
  }

  /** UTF-8 JSON and a final LF. A WebSocket sends all but the last byte. */
  get bytes(): Buffer {
    this.#bytes ??= Buffer.from(`${this.#encode()}\n`)
    return this.#bytes
  }
}
