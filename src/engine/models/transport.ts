import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { systemClock } from '../../base/clock.ts'
import { agentFor, dropIdle } from './agents.ts'
import { EventReader } from './event-reader.ts'
import { refused } from './failures.ts'
import type { ModelFailure } from './model.ts'
import { pump } from './pump.ts'

/** One POST whose answer is a stream of server-sent events. */
export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
  /** Milliseconds until the answer's headers must be there. */
  readonly headerTimeoutMs: number
  /** Milliseconds from one event (or comment) to the next; bytes that complete no event do not count. */
  readonly idleTimeoutMs: number
  /** Where HTTP(S)_PROXY and its kin are looked up. */
  readonly env: NodeJS.ProcessEnv
}

/** Bytes of an error answer that are read; the rest is refused. */
const ERROR_BYTES = 64 * 1024
/** Milliseconds an error answer may take to arrive. */
const ERROR_MS = 10_000
/** Milliseconds a provider may keep a finished stream open before the connection is given up. */
const LINGER_MS = 1_000

/**
 * Sends `post` and gives each event's data to `onData`, synchronously from the socket's read; `onData` returns true when
 * it wants no more. Resolves with null when the stream ended cleanly or had its last event, else with the failure
 * (`url` is set on a network failure that came before any answer). Redirects are not followed: credentials stay with
 * their origin. Rejects only when `onData` throws.
 */
export function post(
  request: Post,
  onData: (data: string) => boolean,
  signal: AbortSignal,
): Promise<ModelFailure | null> {
  if (signal.aborted) return Promise.resolve(ABORTED)
  return new Promise((resolve, reject) => new Exchange(request, signal, { onData, resolve, reject }).send())
}

const ABORTED: ModelFailure = { kind: 'aborted', message: 'the request was aborted' }

interface Hooks {
  onData(data: string): boolean
  resolve(failure: ModelFailure | null): void
  reject(error: unknown): void
}

class Exchange {
  readonly #post: Post
  readonly #signal: AbortSignal
  readonly #hooks: Hooks
  #request: ClientRequest | undefined
  #timer: NodeJS.Timeout | undefined
  #answered = false
  #over = false

  constructor(post: Post, signal: AbortSignal, hooks: Hooks) {
    this.#post = post
    this.#signal = signal
    this.#hooks = hooks
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  send(): void {
    const { url, headers, body, env, headerTimeoutMs } = this.#post
    try {
      const agent = agentFor(url, env)
      const options = {
        method: 'POST',
        agent,
        headers: { ...headers, ...HEADERS, 'content-length': Buffer.byteLength(body) },
      }
      this.#request = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
      this.#listen(this.#request, agent)
      this.#wait(headerTimeoutMs, `no response headers within ${headerTimeoutMs} ms`)
      this.#request.end(body)
    } catch (error) {
      this.#fail(this.#unsent(error))
    }
  }

  #listen(request: ClientRequest, agent: Agent): void {
    request.on('response', answer => {
      this.#answered = true
      if (isStream(answer)) this.#stream(answer)
      else this.#refuse(answer)
    })
    request.on('error', error => {
      if (this.#over || this.#answered) return this.#fail(CUT)
      if (!request.reusedSocket || !isReset(error)) return this.#fail(this.#unsent(error))
      // The provider closed this idle connection just as we wrote: nothing was received, so a fresh one may try.
      dropIdle(agent)
      this.send()
    })
  }

  #stream(answer: IncomingMessage): void {
    const { idleTimeoutMs } = this.#post
    this.#wait(idleTimeoutMs, 'idle timeout waiting for SSE')
    const reader = new EventReader(data => !this.#over && this.#give(data))
    const read = (text: string): void => {
      if (this.#over) return
      try {
        if (reader.feed(text)) this.#timer?.refresh()
        if (reader.problem) this.#fail({ kind: 'tooLarge', message: reader.problem })
      } catch (error) {
        this.#close()
        this.#request?.destroy()
        this.#hooks.reject(error)
      }
    }
    pump(answer, read, cut => {
      if (cut) return this.#fail(CUT)
      read('\n\n') // completes a last event that has no blank line after it
      this.#end(null)
    })
  }

  #give(data: string): void {
    if (!this.#hooks.onData(data)) return
    this.#end(null)
    // The rest (a closing chunk) is read so that the connection can be kept, but not waited for.
    const linger = setTimeout(() => this.#request?.destroy(), LINGER_MS).unref()
    this.#request?.once('close', () => clearTimeout(linger))
  }

  #refuse(answer: IncomingMessage): void {
    const chunks: Buffer[] = []
    let size = 0
    const end = (): void => {
      const body = Buffer.concat(chunks).subarray(0, ERROR_BYTES).toString()
      const { statusCode: status = 0, headers } = answer
      this.#fail(refused({ status, headers, body, url: shown(this.#post.url) }, systemClock()))
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(end, ERROR_MS)
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      size += chunk.length
      if (size >= ERROR_BYTES) end()
    })
    for (const event of ['end', 'error', 'close']) answer.on(event, end)
  }

  #wait(ms: number, message: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#fail({ kind: 'timeout', message }), ms)
  }

  readonly #abort = (): void => this.#fail(ABORTED)

  #unsent(error: unknown): ModelFailure {
    const { message, code } = error as NodeJS.ErrnoException
    const url = shown(this.#post.url)
    const why = isReset(error) ? '' : `: ${message}`
    return { kind: 'network', message: `error sending request for url (${url})${why}`, url, ...(code && { code }) }
  }

  #fail(failure: ModelFailure): void {
    if (this.#over) return
    this.#end(failure)
    this.#request?.destroy()
  }

  #end(result: ModelFailure | null): void {
    if (this.#over) return
    this.#close()
    this.#hooks.resolve(result)
  }

  #close(): void {
    this.#over = true
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#abort)
  }
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  'accept-encoding': 'identity',
} as const

/** Words of codex, which clients show. */
const CUT: ModelFailure = { kind: 'network', message: 'Transport error: network error: error decoding response body' }

/** The far end closed the connection without a word: an idle connection that went stale looks like this. */
const isReset = (error: unknown): boolean => /^(ECONNRESET|EPIPE)$/.test((error as NodeJS.ErrnoException).code ?? '')

/** Some servers forget the type of their stream or call it text/plain; a page or a document is none. */
function isStream({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300 && !/\b(html|json|xml)\b/.test(headers['content-type'] ?? '')
}

/** `url` as errors may show it: credentials and query parameters can be secrets. */
const shown = (url: URL): string => url.origin + url.pathname
