import type { ClientRequests } from '../../src/protocol/codex/methods.gen.ts'
import { sleep } from '../kit/child.ts'
import { dig } from '../kit/dig.ts'

/** What carries messages to the server; it hands each message from there to `Client.take`. */
export interface Wire {
  send(text: string): void
  /** Stops reading, as a client that hangs does. */
  pause(): void
  resume(): void
  /** Ends it as the protocol asks. */
  close(): void
  /** Ends it at once. */
  drop(): void
}

/** A notification with the time (ms of `performance.now`) at which it was there. */
export interface Note {
  readonly method: string
  readonly params: unknown
  readonly at: number
}

/** An answer of the server that says no. */
export class Refusal extends Error {
  readonly code: number

  constructor(method: string, code: number, message: string) {
    super(`${method}: ${code} ${message}`)
    this.code = code
  }
}

/** How long a turn took, in milliseconds. */
export interface TurnTimes {
  /** Until `turn/start` was answered. */
  readonly ack: number
  /** Until `turn/completed`. */
  readonly total: number
  readonly status: string
}

interface Call {
  readonly method: string
  readonly timer: NodeJS.Timeout
  resolve(result: unknown): void
  reject(why: Error): void
}

interface Waiter {
  readonly test: (note: Note) => boolean
  readonly timer: NodeJS.Timeout
  resolve(note: Note): void
  reject(why: Error): void
}

type Methods = ClientRequests

const DELTA = '"method":"item/agentMessage/delta"'
/** The method stands within the first bytes of a frame, also behind a stamp of time. */
const HEAD = 160
const PATIENCE_MS = 120_000

/**
 * A client that costs less than any server it measures: deltas are counted and not parsed. Look into them with `onDelta`.
 */
export class Client {
  deltas = 0
  frames = 0
  bytes = 0
  firstDeltaAt = Number.NaN
  lastDeltaAt = Number.NaN
  onDelta: ((frame: Buffer) => void) | null = null
  /** How the connection ended; null while it is open. */
  closed: unknown = null
  wire: Wire
  readonly #calls = new Map<number, Call>()
  readonly #waiters = new Set<Waiter>()
  readonly #listeners: ((note: Note) => void)[] = []
  #id = 0

  constructor(wire: Wire) {
    this.wire = wire
  }

  /** Takes one message from the wire. */
  take(frame: Buffer): void {
    this.frames += 1
    this.bytes += frame.length
    if (frame.toString('latin1', 0, Math.min(frame.length, HEAD)).includes(DELTA)) return this.#count(frame)
    const message = JSON.parse(frame.toString('utf8')) as Record<string, unknown>
    if (typeof message.method === 'string') {
      if (message.id === undefined)
        this.#note({ method: message.method, params: message.params, at: performance.now() })
    } else this.#answer(message)
  }

  /** The wire says that the connection is gone: whoever waits hears of it. */
  gone(why: unknown): void {
    if (this.closed !== null) return
    this.closed = why
    const failure = (what: string): Error => new Error(`closed (${JSON.stringify(why)}) during ${what}`)
    for (const call of this.#calls.values()) settle(call).reject(failure(call.method))
    for (const waiter of this.#waiters) settle(waiter).reject(failure('a wait'))
    this.#calls.clear()
    this.#waiters.clear()
  }

  /** Calls a method. Rejects with a `Refusal` when the server says no, and when no answer comes in `ms`. */
  request<K extends keyof Methods>(
    method: K,
    params: Methods[K]['params'],
    ms = PATIENCE_MS,
  ): Promise<Methods[K]['result']> {
    this.#id += 1
    const id = this.#id
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#calls.delete(id)
        reject(new Error(`${method} was not answered in ${ms} ms`))
      }, ms)
      this.#calls.set(id, { method, timer, resolve: resolve as Call['resolve'], reject })
      this.wire.send(JSON.stringify({ id, method, params }))
    })
  }

  /** Hears every notification but deltas from now on. */
  listen(listener: (note: Note) => void): void {
    this.#listeners.push(listener)
  }

  /** The next notification that passes the test; `forget` ends the wait and leaves the promise open. */
  until(test: (note: Note) => boolean, ms = PATIENCE_MS): { readonly met: Promise<Note>; forget(): void } {
    let forget = (): void => {}
    const met = new Promise<Note>((resolve, reject) => {
      const timer = setTimeout(() => {
        forget()
        reject(new Error(`the notification did not come in ${ms} ms`))
      }, ms)
      const waiter = { test, timer, resolve, reject }
      forget = () => void this.#waiters.delete(settle(waiter))
      this.#waiters.add(waiter)
    })
    met.catch(() => {})
    return { met, forget }
  }

  async initialize(): Promise<void> {
    await this.request('initialize', {
      clientInfo: { name: 'bench', title: 'Bench', version: '0.0.1' },
      capabilities: { experimentalApi: true, requestAttestation: false },
    })
    this.wire.send('{"method":"initialized"}')
  }

  /** Starts a thread in `cwd` and gives its id. */
  async startThread(cwd: string): Promise<string> {
    return (await this.request('thread/start', { cwd })).thread.id
  }

  /** Runs a turn to its end. */
  async turn(threadId: string, text: string, ms = 300_000): Promise<TurnTimes> {
    const since = performance.now()
    // Before the request: with an instant model the end may be there in the same chunk as the answer.
    const end = this.until(note => note.method === 'turn/completed' && dig(note.params, 'threadId') === threadId, ms)
    try {
      await this.request('turn/start', { threadId, input: [{ type: 'text', text, text_elements: [] }] }, ms)
    } catch (why) {
      end.forget()
      throw why
    }
    const ack = performance.now() - since
    const { at, params } = await end.met
    return { ack, total: at - since, status: String(dig(params, 'turn.status')) }
  }

  /** Forgets what it has counted. */
  reset(): void {
    this.deltas = 0
    this.frames = 0
    this.bytes = 0
  }

  #count(frame: Buffer): void {
    this.deltas += 1
    this.lastDeltaAt = performance.now()
    if (this.deltas === 1) this.firstDeltaAt = this.lastDeltaAt
    this.onDelta?.(frame)
  }

  #answer(message: Record<string, unknown>): void {
    const call = this.#calls.get(Number(message.id))
    if (!call) return
    this.#calls.delete(Number(message.id))
    clearTimeout(call.timer)
    if (message.error === undefined) return call.resolve(message.result)
    call.reject(new Refusal(call.method, Number(dig(message.error, 'code')), String(dig(message.error, 'message'))))
  }

  #note(note: Note): void {
    for (const listener of this.#listeners) listener(note)
    for (const waiter of this.#waiters) {
      if (!waiter.test(note)) continue
      this.#waiters.delete(settle(waiter))
      waiter.resolve(note)
    }
  }
}

/** The protocol's word for "too much at once, come again". */
const OVERLOADED = -32001
const MOST_RETRIES = 200

/** Repeats a call that the server refuses as too much, as the protocol wants it; `onRefusal` hears of each time. */
export async function patiently(
  call: () => Promise<unknown>,
  onRefusal: () => void,
  most = MOST_RETRIES,
): Promise<void> {
  for (let refused = 0; ; refused += 1) {
    try {
      await call()
      return
    } catch (why) {
      if (!(why instanceof Refusal) || why.code !== OVERLOADED) throw why
      onRefusal()
      if (refused >= most) throw why
      await sleep(20 + Math.random() * 80)
    }
  }
}

function settle<T extends { readonly timer: NodeJS.Timeout }>(one: T): T {
  clearTimeout(one.timer)
  return one
}
