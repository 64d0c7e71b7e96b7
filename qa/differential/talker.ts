import { sleep } from '../kit/child.ts'
import { dig } from '../kit/dig.ts'
import type { Link } from '../kit/link.ts'
import type { Line } from './recording.ts'

/** One message of the server, as parsed. */
export type Message = Readonly<Record<string, unknown>>

/** How a request is sent. */
export interface AskOptions {
  /** Instead of the next number. */
  readonly id?: number | string
  readonly timeoutMs?: number
  /** Not recorded: for requests too big to keep. */
  readonly unrecorded?: true
}

/** What `initialize` says about the client. */
export interface Introduction {
  readonly experimental?: boolean
  readonly name?: string
  readonly optOut?: readonly string[]
}

/** Where a wait begins and how long it lasts. */
export interface UntilOptions {
  /** Index of the first message that counts, from `mark()`. */
  readonly from?: number
  readonly timeoutMs?: number
}

export type Wanted = string | ((message: Message) => boolean)

/** One connection of a scenario. It records what passes, in the order the client sees it. */
export class Talker {
  /** Everything the server sent. */
  readonly seen: Message[] = []
  /** Every response is also told here, by id, as soon as it comes. */
  readonly answered = new Map<number | string, (message: Message) => void>()
  /** Called for each message instead of recording it, where a scenario counts rather than records. */
  onText: ((text: string) => void) | null = null
  readonly #number: number
  readonly #link: Link
  readonly #log: Line[]
  readonly #replies: ((request: Message) => boolean)[] = []
  #nextId = 1
  #closedBy: string | null = null

  constructor(number: number, link: Link, log: Line[]) {
    this.#number = number
    this.#link = link
    this.#log = log
    link.open({
      message: text => this.#take(text),
      closed: how => {
        this.#closedBy = how
      },
    })
  }

  get closed(): boolean {
    return this.#closedBy !== null
  }

  /** Close code of a socket, exit code of a process, as text; null while it is open. */
  get closedBy(): string | null {
    return this.#closedBy
  }

  /** Sends a request and gives the whole response, error or result. Rejects when none comes. */
  ask(method: string, params?: unknown, options: AskOptions = {}): Promise<Message> {
    const { id = this.#nextId++, timeoutMs = 20_000, unrecorded = false } = options
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.answered.delete(id)
        reject(new Error(`no answer to ${method} in ${timeoutMs} ms`))
      }, timeoutMs)
      this.answered.set(id, message => {
        clearTimeout(timer)
        resolve(message)
      })
      this.#send(params === undefined ? { id, method } : { id, method, params }, unrecorded)
    })
  }

  /** Several requests, each after the answer to the one before. */
  async askAll(requests: readonly (readonly [method: string, params?: unknown])[]): Promise<void> {
    for (const [method, params] of requests) await this.ask(method, params)
  }

  tell(method: string, params?: unknown): void {
    this.#send(params === undefined ? { method } : { method, params })
  }

  /** Sends text that need not be JSON. */
  raw(text: string): void {
    this.#record('c2s', { __raw: text })
    this.#link.send(text)
  }

  /** Sends text without recording it. */
  rawUnrecorded(text: string): void {
    this.#link.send(text)
  }

  answer(request: Message, result: unknown): void {
    this.#send({ id: request.id, result })
  }

  refuse(request: Message, code: number, message: string): void {
    this.#send({ id: request.id, error: { code, message } })
  }

  /** Answers every server request of this method; `undefined` from `reply` leaves it unanswered. */
  reply(method: string, reply: (request: Message) => unknown): void {
    this.#replies.push(request => {
      if (request.method !== method) return false
      const result = reply(request)
      if (result !== undefined) this.answer(request, result)
      return true
    })
  }

  /** The first message that fits, from `from` on; throws when it does not come. */
  async until(wanted: Wanted, { from = 0, timeoutMs = 15_000 }: UntilOptions = {}): Promise<Message> {
    const fits = typeof wanted === 'string' ? (message: Message) => message.method === wanted : wanted
    const end = Date.now() + timeoutMs
    for (let next = from; ; ) {
      for (; next < this.seen.length; next += 1) {
        const message = this.seen[next]
        if (message && fits(message)) return message
      }
      if (Date.now() > end) throw new Error(`${wantedText(wanted)} did not come; last: ${this.#lastSeen()}`)
      await sleep(5)
    }
  }

  /** As `until`, but gives null when it does not come. */
  async untilOrNull(wanted: Wanted, options: UntilOptions = {}): Promise<Message | null> {
    try {
      return await this.until(wanted, options)
    } catch {
      return null
    }
  }

  /** Index of the next message to come. */
  mark(): number {
    return this.seen.length
  }

  /** Waits until nothing has come for `ms` milliseconds. */
  async quiet(ms = 250, maxMs = 6000): Promise<void> {
    const end = Date.now() + maxMs
    let count = this.seen.length
    for (let since = Date.now(); Date.now() < end && Date.now() - since < ms; ) {
      await sleep(20)
      if (this.seen.length === count) continue
      count = this.seen.length
      since = Date.now()
    }
  }

  /** The handshake of the goldens' client. */
  async initialize({ experimental = true, name = 'golden', optOut }: Introduction = {}): Promise<Message> {
    const clientInfo = { name, title: 'Golden', version: '0.0.1' }
    const optOutNotificationMethods = optOut ? { optOutNotificationMethods: optOut } : {}
    const capabilities = { experimentalApi: experimental, requestAttestation: false, ...optOutNotificationMethods }
    const response = await this.ask('initialize', { clientInfo, capabilities })
    this.tell('initialized')
    await this.untilOrNull('remoteControl/status/changed', { timeoutMs: 400 })
    return response
  }

  end(): void {
    this.#link.end()
  }

  cut(): void {
    this.#link.cut()
  }

  #send(message: object, unrecorded = false): void {
    if (!unrecorded) this.#record('c2s', message)
    this.#link.send(JSON.stringify(message))
  }

  #take(text: string): void {
    if (this.onText) return this.onText(text)
    const message = parse(text)
    this.#record('s2c', message)
    this.seen.push(message)
    if (message.method !== undefined && message.id !== undefined) {
      this.#replies.some(reply => reply(message))
      return
    }
    const id = message.id
    if (typeof id !== 'number' && typeof id !== 'string') return
    const told = this.answered.get(id)
    this.answered.delete(id)
    told?.(message)
  }

  #record(dir: 'c2s' | 's2c', msg: unknown): void {
    this.#log.push({ dir, conn: this.#number, msg })
  }

  #lastSeen(): string {
    return this.seen
      .slice(-4)
      .map(({ method, id }) => String(method ?? `response ${id}`))
      .join(', ')
  }
}

/** Whether a message starts, or completes, an item of a type. */
export const item =
  (event: 'started' | 'completed', type: string) =>
  (message: Message): boolean =>
    message.method === `item/${event}` && dig(message, 'params.item.type') === type

const wantedText = (wanted: Wanted): string => (typeof wanted === 'string' ? wanted : 'the message')

function parse(text: string): Message {
  try {
    return JSON.parse(text) as Message
  } catch {
    return { __raw: text }
  }
}
