import type { Channel } from '../rpc/channel.ts'
import { INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError } from '../rpc/error.ts'
import type { Frame } from '../rpc/frame.ts'
import { Frame as RawFrame } from '../rpc/frame.ts'
import type { Incoming, RawId } from '../rpc/message.ts'
import { errorFrame, notificationFrame, readMessage, requestFrame, responseFrame } from '../rpc/message.ts'
import type { After } from '../rpc/timer.ts'
import { systemAfter } from '../rpc/timer.ts'
import { Backlog } from './backlog.ts'

/** Which methods a server has; a dialect's generated map (`ClientRequests`) makes a client typed. */
export type MethodMap<M> = { readonly [K in keyof M]: { readonly params: unknown; readonly result: unknown } }

/** Any method, for whoever looks at the results by himself. */
export type AnyMethods = Readonly<Record<string, { readonly params: unknown; readonly result: unknown }>>

/** What a server says unasked. */
export type Notification = Extract<Incoming, { kind: 'notification' }>

/** What a server asks. */
export type ServerRequest = Extract<Incoming, { kind: 'request' }>

export interface ClientOptions {
  /** Sees every message as it goes by, before anything is made of it. */
  readonly tap?: (direction: 'in' | 'out', text: string) => void
  /** For the time limit of `next`. */
  readonly after?: After
}

interface Asked {
  resolve(result: unknown): void
  reject(error: Error): void
}

/** How long `next` waits unless told otherwise. */
const NEXT_MS = 10_000

/** The client's side of a connection: asks, listens and answers. */
export class Client<M extends MethodMap<M> = AnyMethods> {
  /** Resolves when the connection has ended, whoever ended it. */
  readonly closed: Promise<void>
  readonly #channel: Channel
  readonly #tap: NonNullable<ClientOptions['tap']>
  readonly #asked = new Map<RawId, Asked>()
  readonly #listeners = new Set<(notification: Notification) => void>()
  readonly #backlog: Backlog<Notification | ServerRequest>
  #answer: (request: ServerRequest) => unknown = refuse
  #nextId = 1
  #open = true

  /** Takes over `channel`, which nobody has opened yet. */
  constructor(channel: Channel, options: ClientOptions = {}) {
    this.#channel = channel
    this.#tap = options.tap ?? (() => {})
    this.#backlog = new Backlog(options.after ?? systemAfter)
    this.closed = new Promise(resolve => {
      channel.open({
        message: text => this.#take(text),
        oversized: () => {},
        drain: () => {},
        closed: () => {
          this.#end()
          resolve()
        },
      })
    })
  }

  /** Asks and waits for the answer. Rejects with an `RpcError` the server sent, or an `Error` when the connection ends first. */
  request<K extends keyof M & string>(method: K, params?: M[K]['params']): Promise<M[K]['result']> {
    const id = this.#nextId++
    return new Promise((resolve, reject) => {
      if (!this.#open) {
        reject(new Error(`${method}: the connection is closed`))
        return
      }
      this.#asked.set(String(id), { resolve, reject })
      this.#send(requestFrame(id, method, params))
    })
  }

  /** Tells the server something that has no answer. */
  notify(method: string, params?: unknown): void {
    this.#send(notificationFrame(method, params))
  }

  /** Sends `text` as it is, for whoever wants to see what the server makes of it. */
  sendText(text: string): void {
    this.#send(new RawFrame(() => text))
  }

  /** Calls `listener` with every notification, until the function given back is called. */
  on(listener: (notification: Notification) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Says how the server's requests are answered: with what `answer` gives, or with the error it throws. Until then they are
   * refused as unknown.
   */
  onRequest(answer: (request: ServerRequest) => unknown): void {
    this.#answer = answer
  }

  /**
   * The first notification or server request that fits and that no other `next` has taken, be it in the past (the last
   * 10 000 are kept) or to come. Rejects after `ms` milliseconds and when the connection ends.
   */
  next(
    fits: string | ((message: Notification | ServerRequest) => boolean),
    ms: number = NEXT_MS,
  ): Promise<Notification | ServerRequest> {
    const what = typeof fits === 'string' ? fits : 'a message that fits'
    return this.#backlog.next(typeof fits === 'string' ? message => message.method === fits : fits, ms, what)
  }

  /** Stops and starts reading, as a slow client would. */
  pause(): void {
    this.#channel.pause()
  }

  resume(): void {
    this.#channel.resume()
  }

  /** Ends the connection and waits until it has ended. */
  close(): Promise<void> {
    this.#channel.close(1000, '')
    return this.closed
  }

  #send(frame: Frame): void {
    if (!this.#open) return
    this.#tap('out', frame.bytes.toString('utf8', 0, frame.bytes.length - 1))
    this.#channel.send(frame)
  }

  #take(text: string): void {
    this.#tap('in', text)
    const message = readMessage(text)
    switch (message.kind) {
      case 'notification':
        for (const listener of this.#listeners) listener(message)
        this.#backlog.add(message)
        break
      case 'request':
        this.#backlog.add(message)
        void this.#reply(message)
        break
      case 'result':
        this.#settle(message.id)?.resolve(message.result)
        break
      case 'failure':
        this.#settle(message.id)?.reject(toError(message.error))
        break
      case 'invalid': // for the tap to judge: a client that answers errors with errors never stops
      case 'blank':
        break
      default:
        message satisfies never
    }
  }

  #settle(id: RawId): Asked | undefined {
    const asked = this.#asked.get(id)
    this.#asked.delete(id)
    return asked
  }

  async #reply(request: ServerRequest): Promise<void> {
    try {
      const result = await this.#answer(request)
      this.#send(responseFrame(request.id, result))
    } catch (error) {
      const body = error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, String(error))
      this.#send(errorFrame(request.id, body))
    }
  }

  #end(): void {
    this.#open = false
    const gone = new Error('the connection is closed')
    for (const { reject } of this.#asked.values()) reject(gone)
    this.#asked.clear()
    this.#backlog.end(gone)
  }
}

function refuse({ method }: ServerRequest): never {
  throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`)
}

function toError(error: unknown): RpcError {
  const { code, message, data } = Object(error)
  return new RpcError(typeof code === 'number' ? code : INTERNAL_ERROR, String(message ?? 'unknown error'), data)
}
