import { createParser } from 'eventsource-parser'

/** Characters of one event: larger ones are refused before they are parsed (model-wires.md, section 6). */
const EVENT_CHARS = 16 * 1024 * 1024
/** Characters of one response. */
const RESPONSE_CHARS = 256 * 1024 * 1024

/** Cuts a decoded response body into events. Lenient: CRLF, comments, unknown fields and a byte order mark are fine. */
export class EventReader {
  /** Why reading stopped for good; undefined while all is well. */
  problem: string | undefined
  readonly #parser
  #first = true
  #total = 0
  #alive = false

  /** `onData` gets each event's data. */
  constructor(onData: (data: string) => void) {
    this.#parser = createParser({
      maxBufferSize: EVENT_CHARS,
      onEvent: event => {
        this.#alive = true
        onData(event.data)
      },
      // Providers send comments while a request waits for its turn: a sign of life like an event.
      onComment: () => {
        this.#alive = true
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded')
          this.problem = `one event is larger than ${EVENT_CHARS} characters`
      },
    })
  }

  /** Reads on. Returns whether the chunk completed an event or a comment. Throws what `onData` throws. */
  feed(chunk: string): boolean {
    if (this.problem) return false
    this.#total += chunk.length
    if (this.#total > RESPONSE_CHARS) {
      this.problem = `the response is larger than ${RESPONSE_CHARS} characters`
      return false
    }
    this.#alive = false
    this.#parser.feed(this.#first && chunk.charCodeAt(0) === 0xfeff ? chunk.slice(1) : chunk)
    this.#first = false
    return this.#alive
  }
}
