import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Message, Talker } from './differential/talker.ts'
import { type Example, readExamples } from './docs/examples.ts'
import { Meanings } from './docs/shape.ts'
import { openBackend } from './kit/backend.ts'
import { dig } from './kit/dig.ts'
import { tapped } from './kit/link.ts'
import { wanted } from './kit/options.ts'
import { makePlace } from './kit/place.ts'
import { Server } from './kit/server.ts'
import { runAlone, type Session } from './kit/session.ts'

const FOLDER = join(import.meta.dirname, '../docs')

/** Requests that are about a running turn: they do not wait for the end of a turn that its input makes slow. */
const ABOUT_A_TURN = new Set(['turn/steer', 'turn/interrupt', 'turn/start', 'thread/resume', 'thread/unsubscribe'])
const SLOW = /slow:/

/** Runs the examples of docs/*.md against a live server, one server a document: one verdict a request. */
export async function docs(session: Session): Promise<void> {
  for (const file of readdirSync(FOLDER)
    .filter(name => name.endsWith('.md'))
    .sort()) {
    if (!wanted(file.slice(0, -3), session.options.only)) continue
    try {
      const examples = readExamples(file, readFileSync(join(FOLDER, file), 'utf8'))
      if (examples.length > 0) await runDocument(file, examples, session)
    } catch (error) {
      session.verdicts.fail(`docs ${file}`, error instanceof Error ? error.message : String(error))
    }
  }
}

async function runDocument(file: string, examples: readonly Example[], session: Session): Promise<void> {
  const { options, root, verdicts, witness } = session
  const place = makePlace(root, `docs-${file}`)
  const backend = await openBackend(options.models[0] ?? 'offline')
  backend.configure(place)
  const server = Server.stdio({ command: options.server, place })
  try {
    const link = await server.connect()
    const talker = new Talker(1, witness ? tapped(link, witness.tap()) : link, [])
    const reader = new Reader(talker, new Meanings({ home: place.state, cwd: place.cwd }))
    if (examples[0]?.type === 'request' && examples[0].method !== 'initialize') await talker.initialize()
    for (const group of byRequest(examples)) {
      const [first] = group
      const name = first?.type === 'request' ? first.method : 'what comes before the first request'
      await verdicts.check(`docs ${file}:${first?.line} ${name}`, () => reader.run(group))
    }
  } finally {
    await server.stop()
    backend.close()
  }
}

/** Each request with what the document shows after it. */
function byRequest(examples: readonly Example[]): readonly (readonly Example[])[] {
  const groups: Example[][] = []
  for (const example of examples) {
    if (example.type === 'request' || groups.length === 0) groups.push([example])
    else groups.at(-1)?.push(example)
  }
  return groups
}

/** Goes through a document: what it has sent, and up to where it has read what came. */
class Reader {
  readonly #talker: Talker
  readonly #meanings: Meanings
  #running: { readonly turnId: unknown; readonly from: number; readonly slow: boolean } | null = null
  #from = 0
  #asked: Message | null = null

  constructor(talker: Talker, meanings: Meanings) {
    this.#talker = talker
    this.#meanings = meanings
  }

  async run(group: readonly Example[]): Promise<void> {
    let answer: Message | null = null
    for (const example of group) {
      switch (example.type) {
        case 'request':
          answer = await this.#ask(example.method, example.params, group)
          break
        case 'response':
          this.#expect(example, answer)
          break
        case 'sent':
          await this.#expectSent(example)
          break
        case 'reply':
          if (this.#asked === null) throw new Error(`line ${example.line}: the server has asked nothing`)
          this.#talker.answer(this.#asked, this.#meanings.fill(example.result))
          break
        default:
          example satisfies never
      }
    }
  }

  async #ask(method: string, params: unknown, group: readonly Example[]): Promise<Message> {
    if (!(this.#running?.slow && ABOUT_A_TURN.has(method))) await this.#settle()
    const from = this.#talker.mark()
    this.#from = from
    const answer = await this.#talker.ask(method, this.#meanings.fill(params))
    const isShown = group.some(example => example.type === 'response')
    if (!isShown && answer.error) throw new Error(`it was refused: ${JSON.stringify(answer.error)}`)
    if (method === 'turn/start' && answer.result) {
      const slow = SLOW.test(JSON.stringify(params))
      this.#running = { turnId: dig(answer, 'result.turn.id'), from, slow }
    }
    return answer
  }

  /** A document shows one thing after the other: a turn ends before the next request. */
  async #settle(): Promise<void> {
    const running = this.#running
    this.#running = null
    if (running === null) return
    const ends = (message: Message): boolean =>
      message.method === 'turn/completed' && dig(message, 'params.turn.id') === running.turnId
    await this.#talker.until(ends, { from: running.from })
  }

  #expect(example: Example & { type: 'response' }, answer: Message | null): void {
    if (answer === null) throw new Error(`line ${example.line}: no request stands before this response`)
    const { id: _, ...rest } = answer
    const { id: __, ...documented } = example.message
    this.#hold(example.line, documented, rest)
  }

  /** The first message of that method after the last one shown must be as documented. */
  async #expectSent(example: Example & { type: 'sent' }): Promise<void> {
    const wanted = example.message.method
    const sent = await this.#talker.until(message => message.method === wanted, { from: this.#from })
    this.#from = this.#talker.seen.indexOf(sent) + 1
    if (sent.id !== undefined) this.#asked = sent
    const { id: _, ...rest } = sent
    const { id: __, ...documented } = example.message
    this.#hold(example.line, documented, rest)
  }

  #hold(line: number, documented: unknown, actual: unknown): void {
    const mismatch = this.#meanings.compare(documented, actual)
    if (mismatch) throw new Error(`line ${line}: at ${mismatch.at || 'the top'}: ${mismatch.why}`)
  }
}

if (import.meta.filename === process.argv[1]) await runAlone(docs)
