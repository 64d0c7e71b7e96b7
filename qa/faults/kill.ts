import { setImmediate as tick } from 'node:timers/promises'
import { isObject } from '../../src/base/json.ts'
import { sleep, within } from '../kit/child.ts'
import type { Link } from '../kit/link.ts'
import { makePlace, type Place, writeInto } from '../kit/place.ts'
import { Server } from '../kit/server.ts'
import { runAlone, type Session } from '../kit/session.ts'

/** A turn that thinks, streams, runs a command and streams again: something happens at any moment of it. */
const BUSY =
  'slow: 5\nthink: Let me see.\nstream: 40 30\nrun: for i in 1 2 3 4 5; do echo line $i; sleep 0.03; done\nstream: 40 30'
const PATIENCE_MS = 20_000
/** Streamed text that may be missing afterwards: what came within the last moments before the kill. */
const MAX_MISSING_MS = 150

type Message = Readonly<Record<string, unknown>>

/** A connection that keeps what it hears. */
class Peer {
  readonly heard: { readonly method: string; readonly params: Message; readonly at: number }[] = []
  readonly #link: Link
  readonly #waiting = new Map<number, (message: Message) => void>()
  #next = 1

  constructor(link: Link) {
    this.#link = link
    link.open({ message: text => this.#on(JSON.parse(text)), closed: () => {} })
  }

  async request(method: string, params: object): Promise<Message> {
    const id = this.#next++
    const answer = new Promise<Message>(resolve => this.#waiting.set(id, resolve))
    this.#link.send(JSON.stringify({ id, method, params }))
    const message = await within(PATIENCE_MS, answer, null)
    if (!message || !isObject(message.result)) throw new Error(`${method}: ${JSON.stringify(message)}`)
    return message.result
  }

  async initialize(): Promise<void> {
    await this.request('initialize', { clientInfo: { name: 'kill', title: null, version: '1' } })
    this.#link.send(JSON.stringify({ method: 'initialized' }))
  }

  /** Resolves when a notification of this name has come since the first `from` messages. */
  async until(method: string, from: number): Promise<Message> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await tick()) {
      const found = this.heard.slice(from).find(message => message.method === method)
      if (found) return found.params
      await sleep(2)
    }
    throw new Error(`${method} never came`)
  }

  async turn(threadId: string, text: string): Promise<Message> {
    const from = this.heard.length
    await this.request('turn/start', { threadId, input: [{ type: 'text', text, text_elements: [] }] })
    return this.until('turn/completed', from)
  }

  #on(message: Message): void {
    if (typeof message.id === 'number' && message.method === undefined) this.#waiting.get(message.id)?.(message)
    else if (typeof message.method === 'string' && isObject(message.params)) {
      this.heard.push({ method: message.method, params: message.params, at: performance.now() })
    }
  }
}

interface Killed {
  readonly threadId: string
  /** Turns whose end was announced. */
  readonly ended: readonly string[]
  /** Items whose end was announced, by id. */
  readonly items: ReadonlyMap<string, Message>
  /** Text of items that were open, without what came in the last moments. */
  readonly texts: ReadonlyMap<string, string>
}

/** Kills a server at a random moment of a busy turn, `KILLS` times (25), and looks what is left each time. */
async function kills(session: Session): Promise<void> {
  const { verdicts, options, root } = session
  const count = Number(process.env.KILLS ?? 25)
  const seed = Number(process.env.SEED ?? 1)
  const random = seeded(seed)
  const wrong: string[] = []
  let kept = 0
  let streamed = 0
  for (let n = 0; n < count; n++) {
    const place = makePlace(root, `kill-${n}`)
    writeInto(
      place.state,
      'config.toml',
      'model_provider = "offline"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n',
    )
    try {
      const after = Math.floor(random() * 1000)
      const killed = await killOnce(place, options.server, after)
      const seen = await lookAgain(place, options.server, killed)
      wrong.push(...seen.wrong.map(what => `kill ${n} after ${after} ms: ${what}`))
      kept += seen.kept
      streamed += seen.streamed
    } catch (error) {
      wrong.push(`kill ${n}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const share = streamed === 0 ? 100 : (100 * kept) / streamed
  const name = `${count} kills in mid-turn (seed ${seed}), ${share.toFixed(1)} % of the open text kept`
  if (wrong.length === 0) verdicts.ok(name)
  else verdicts.fail(name, `${wrong.length} wrong`, wrong.join('\n'))
}

async function killOnce(place: Place, command: readonly string[], after: number): Promise<Killed> {
  const server = Server.stdio({ command, place })
  const peer = new Peer(await server.connect())
  await peer.initialize()
  const { thread } = await peer.request('thread/start', { cwd: place.cwd })
  const threadId = String((thread as Message).id)
  await peer.turn(threadId, 'say: hello')
  void peer
    .request('turn/start', { threadId, input: [{ type: 'text', text: BUSY, text_elements: [] }] })
    .catch(() => {})
  await sleep(after)
  server.child.kill('SIGKILL')
  await server.exited
  // What the operating system still holds for us was sent before the kill.
  await sleep(20)
  return summary(peer, threadId)
}

function summary(peer: Peer, threadId: string): Killed {
  const last = peer.heard.at(-1)?.at ?? 0
  const ended: string[] = []
  const items = new Map<string, Message>()
  const texts = new Map<string, string>()
  for (const { method, params, at } of peer.heard) {
    const item = params.item as Message | undefined
    if (method === 'turn/completed') ended.push(String((params.turn as Message).id))
    if (method === 'item/completed' && item) {
      items.set(String(item.id), item)
      texts.delete(String(item.id))
    }
    if (method === 'item/agentMessage/delta' && at < last - MAX_MISSING_MS) {
      texts.set(String(params.itemId), (texts.get(String(params.itemId)) ?? '') + String(params.delta))
    }
  }
  return { threadId, ended, items, texts }
}

interface Seen {
  readonly wrong: readonly string[]
  readonly kept: number
  readonly streamed: number
}

/** An item as history shows it: a command that has ended is there the agent's, wherever it was started. */
const asPast = (item: Message | undefined): string => JSON.stringify({ ...item, source: null })

/** Goes on with the thread in a new server. */
async function lookAgain(place: Place, command: readonly string[], killed: Killed): Promise<Seen> {
  const server = Server.stdio({ command, place })
  try {
    const peer = new Peer(await server.connect())
    await peer.initialize()
    const { thread } = await peer.request('thread/resume', { threadId: killed.threadId })
    const turns = (thread as { turns: readonly { id: string; status: string; items: readonly Message[] }[] }).turns
    const found = new Map(turns.flatMap(turn => turn.items.map(item => [String(item.id), item] as const)))
    const wrong: string[] = []
    for (const id of killed.ended) {
      if (turns.find(turn => turn.id === id)?.status !== 'completed')
        wrong.push(`turn ${id} had ended and is not whole`)
    }
    for (const [id, item] of killed.items) {
      if (asPast(found.get(id)) !== asPast(item)) wrong.push(`item ${id} had ended and is lost or changed`)
    }
    let [kept, streamed] = [0, 0]
    for (const [id, text] of killed.texts) {
      streamed += text.length
      const now = String(found.get(id)?.text ?? '')
      if (now.startsWith(text)) kept += text.length
      else if (text.startsWith(now)) kept += now.length
      else wrong.push(`the text of ${id} has changed`)
    }
    const next = (await peer.turn(killed.threadId, 'say: still here')).turn as Message
    if (next.status !== 'completed') wrong.push(`the next turn is ${String(next.status)}`)
    return { wrong, kept, streamed }
  } finally {
    await server.stop()
  }
}

/** A sequence that is the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

void runAlone(kills)
