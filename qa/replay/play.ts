import { sleep } from '../kit/child.ts'
import type { Transport } from '../kit/link.ts'
import { Client } from './client.ts'
import { fill, type Mismatch, match, type Values } from './match.ts'
import { Stage, type Theatre } from './stage.ts'
import type { Act, Story } from './story.ts'

/** How long after its last line a story still listens for frames that should not come, in milliseconds. */
const AFTERMATH_MS = 80

/** Why a story failed on a transport, told for a person. */
export class StoryFailure extends Error {}

/** Plays one story on one transport; throws a `StoryFailure` at the first line that does not hold. */
export async function play(story: Story, transport: Transport, theatre: Theatre): Promise<void> {
  const stage = new Stage(theatre, story.setup, transport, story.name)
  const player = new Player(story, stage, new Set([...story.setup.ignore, ...theatre.ignore]))
  try {
    await player.run()
  } finally {
    player.close()
    await stage.stop()
  }
}

class Player {
  readonly #story: Story
  readonly #stage: Stage
  readonly #clients = new Map<string, Client>()
  readonly #values: Values
  readonly #ignored: ReadonlySet<string>

  constructor(story: Story, stage: Stage, ignored: ReadonlySet<string>) {
    this.#story = story
    this.#stage = stage
    this.#ignored = ignored
    this.#values = new Map([
      ['home', stage.place.state],
      ['cwd', stage.place.cwd],
      ['tmp', stage.place.tmp],
    ])
  }

  async run(): Promise<void> {
    for (const act of this.#story.acts) await this.#perform(act)
    await sleep(AFTERMATH_MS)
    for (const client of this.#clients.values()) {
      if (client.pending.length === 0) continue
      throw this.#failure(null, client, 'the story is over, but this came', client.pending[0])
    }
  }

  close(): void {
    for (const client of this.#clients.values()) client.cut()
  }

  async #perform(act: Act): Promise<void> {
    switch (act.type) {
      case 'send':
        return (await this.#client(act.client)).send(JSON.stringify(fill(act.message, this.#values)))
      case 'raw':
        return (await this.#client(act.client)).send(act.text)
      case 'expect':
        return this.#expect(act, await this.#client(act.client))
      case 'any':
        return this.#skip(act, await this.#client(act.client))
      case 'unordered':
        return this.#expectAll(act, await this.#client(act.client))
      case 'silence':
        return this.#silence(act, await this.#client(act.client))
      case 'closed':
        return this.#expectClosed(act, await this.#client(act.client))
      case 'direct':
        return this.#direct(act)
      default:
        return act satisfies never
    }
  }

  async #expect(act: Act & { type: 'expect' }, client: Client): Promise<void> {
    const frame = await this.#next(act, client, act.pattern)
    const mismatch = match(act.pattern, frame, this.#values)
    if (mismatch) throw this.#failure(act, client, at(mismatch), frame, act.pattern)
    client.take()
  }

  /** Takes every frame that matches; the first that does not is for the next line. */
  async #skip(act: Act & { type: 'any' }, client: Client): Promise<void> {
    for (;;) {
      const frame = await client.peek(this.#story.setup.timeoutMs)
      if (frame === undefined || match(act.pattern, frame, new Map(this.#values))) return
      client.take()
    }
  }

  async #expectAll(act: Act & { type: 'unordered' }, client: Client): Promise<void> {
    const left = [...act.patterns]
    while (left.length > 0) {
      const frame = await this.#next(act, client, left)
      const index = left.findIndex(pattern => match(pattern, frame, this.#values) === null)
      if (index < 0) throw this.#failure(act, client, 'this is none of what the block expects', frame, left)
      left.splice(index, 1)
      client.take()
    }
  }

  async #silence(act: Act & { type: 'silence' }, client: Client): Promise<void> {
    const frame = await client.peek(act.ms)
    if (frame !== undefined) throw this.#failure(act, client, 'nothing should have come', frame)
  }

  async #expectClosed(act: Act & { type: 'closed' }, client: Client): Promise<void> {
    const how = await client.closed(this.#story.setup.timeoutMs)
    if (how === null) throw this.#failure(act, client, 'the connection is still open', undefined)
    if (act.how !== null && act.how !== how) throw this.#failure(act, client, `it closed with ${how}`, undefined)
    const [frame] = client.pending
    if (frame !== undefined) throw this.#failure(act, client, 'before it closed, this came', frame)
    this.#clients.delete(client.name)
  }

  async #direct(act: Act & { type: 'direct' }): Promise<void> {
    const [first = '', ...rest] = act.args.split(/\s+/)
    switch (act.word) {
      case 'open':
        await this.#open(first)
        return
      case 'initialize':
        return this.#initialize(act, await this.#client(first), rest.join(' '))
      case 'close':
      case 'cut':
        return this.#part(act, first)
      case 'wait':
        return sleep(Number(first))
      case 'restart':
        return this.#restart(act)
      default:
        return this.#exits(act, Number(first))
    }
  }

  /** The handshake that most stories begin with: `! initialize a {"experimentalApi":true}`. */
  async #initialize(act: Act, client: Client, capabilities: string): Promise<void> {
    const clientInfo = { name: 'story', title: null, version: '1.0.0' }
    const params = { clientInfo, capabilities: capabilities === '' ? null : (JSON.parse(capabilities) as unknown) }
    client.send(JSON.stringify({ id: 'initialize', method: 'initialize', params }))
    const pattern = { id: 'initialize', result: { '...': true } }
    const frame = await this.#next(act, client, pattern)
    const mismatch = match(pattern, frame, this.#values)
    if (mismatch) throw this.#failure(act, client, at(mismatch), frame, pattern)
    client.take()
    client.send(JSON.stringify({ method: 'initialized' }))
  }

  /** Who is cut off loses what it has not read; who leaves politely has read everything. */
  async #part(act: Act & { type: 'direct' }, name: string): Promise<void> {
    const client = this.#clients.get(name)
    if (!client) throw this.#failure(act, null, `there is no client ${name}`, undefined)
    this.#clients.delete(name)
    if (act.word === 'cut') return client.cut()
    const [frame] = client.pending
    if (frame !== undefined) throw this.#failure(act, client, 'it goes, but this came first', frame)
    client.end()
  }

  /** The server must end in order, whatever it was doing. */
  async #restart(act: Act & { type: 'direct' }): Promise<void> {
    for (const name of [...this.#clients.keys()]) await this.#part(act, name)
    const exit = await this.#stage.stop()
    if (exit === null || exit.code === 0) return
    throw this.#failure(act, null, `the server ended with ${exit.signal ?? exit.code}`, undefined)
  }

  /** Only a server of its own process has an exit code. */
  async #exits(act: Act, code: number): Promise<void> {
    if (this.#stage.transport === 'memory') return
    const got = await this.#stage.exitCode(this.#story.setup.timeoutMs)
    if (got !== code) throw this.#failure(act, null, `the server ended with ${got ?? 'nothing yet'}`, undefined)
  }

  async #client(name: string): Promise<Client> {
    return this.#clients.get(name) ?? this.#open(name)
  }

  async #open(name: string): Promise<Client> {
    const client = new Client(name, await this.#stage.connect(), this.#ignored)
    this.#clients.set(name, client)
    return client
  }

  async #next(act: Act, client: Client, pattern: unknown): Promise<unknown> {
    const frame = await client.peek(this.#story.setup.timeoutMs)
    if (frame !== undefined) return frame
    const why = client.closedBy === null ? 'nothing came' : `the connection closed (${client.closedBy})`
    throw this.#failure(act, client, why, undefined, pattern)
  }

  #failure(act: Act | null, client: Client | null, why: string, got: unknown, expected?: unknown): StoryFailure {
    const where = act ? `${this.#story.name}.txt:${act.line}` : `${this.#story.name}.txt`
    const lines = [`${where}: ${client ? `client ${client.name}: ` : ''}${why}`]
    if (act) lines.push(`line:     ${cut(act.source)}`)
    if (expected !== undefined) lines.push(`expected: ${cut(JSON.stringify(expected))}`)
    if (got !== undefined) lines.push(`got:      ${cut(JSON.stringify(got))}`)
    for (const frame of client?.history.slice(-6) ?? []) lines.push(`frame     ${cut(frame)}`)
    if (this.#stage.lastWords !== '') lines.push(...this.#stage.lastWords.split('\n').map(line => `stderr    ${line}`))
    return new StoryFailure(lines.join('\n'))
  }
}

const at = (mismatch: Mismatch): string => `at ${mismatch.at || 'the top'}: ${mismatch.why}`

const cut = (text: string): string => (text.length > 1200 ? `${text.slice(0, 1200)}...` : text)
