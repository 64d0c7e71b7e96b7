import { Frame } from '../../src/rpc/frame.ts'
import type { Dialect } from '../../src/server/dialect.ts'
import type { Server } from '../../src/server/server.ts'
import type { Session } from '../../src/server/session.ts'
import { memoryPair } from '../../src/transport/memory.ts'

export type Message = Record<string, unknown>

/** A client in the same process: it sends what it is told and keeps what it hears. */
export class Peer {
  readonly session: Session
  readonly #send: (text: string) => void
  readonly #close: () => void
  readonly #heard: Message[] = []
  readonly #answers = new Map<unknown, (answer: Message) => void>()
  readonly #gone: Promise<void>
  #wake: (() => void) | null = null
  #nextId = 1

  constructor(server: Server, dialect: Dialect) {
    const [mine, theirs] = memoryPair()
    this.session = server.accept(theirs, dialect)
    this.#send = text => mine.send(new Frame(() => text))
    this.#close = () => mine.close(1000, '')
    this.#gone = new Promise(resolve => {
      mine.open({ message: text => this.#hear(text), oversized() {}, drain() {}, closed: () => resolve() })
    })
  }

  /** The answer to a request, without its id. */
  ask(method: string, params?: unknown): Promise<Message> {
    const id = this.#nextId++
    const answer = new Promise<Message>(resolve => this.#answers.set(id, resolve))
    this.send({ id, method, params })
    return answer
  }

  send(message: unknown): void {
    this.#send(JSON.stringify(message))
  }

  /** The next `count` notifications and server requests, in order. */
  async take(count: number): Promise<readonly Message[]> {
    while (this.#heard.length < count) await this.#more()
    return this.#heard.splice(0, count)
  }

  /** Everything up to and including the first message for which `last` holds. */
  async until(last: (message: Message) => boolean): Promise<readonly Message[]> {
    for (;;) {
      const at = this.#heard.findIndex(last)
      if (at >= 0) return this.#heard.splice(0, at + 1)
      await this.#more()
    }
  }

  /** What has come by the time nothing is left to do. */
  async silence(): Promise<readonly Message[]> {
    await new Promise(resolve => setTimeout(resolve, 20))
    return this.#heard.splice(0)
  }

  async close(): Promise<void> {
    this.#close()
    await this.#gone
    await new Promise(resolve => setImmediate(resolve))
  }

  #hear(text: string): void {
    const { id, ...message } = JSON.parse(text) as Message
    const answer = message.method === undefined ? this.#answers.get(id) : undefined
    if (answer) answer(message)
    else this.#heard.push(id === undefined ? message : { id, ...message })
    this.#wake?.()
  }

  #more(): Promise<void> {
    return new Promise(resolve => {
      this.#wake = resolve
    })
  }
}

export const connectTo = (server: Server, dialect: Dialect): Peer => new Peer(server, dialect)
