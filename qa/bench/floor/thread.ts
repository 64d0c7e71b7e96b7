import { appendFile } from 'node:fs'
import { runCommand } from './command.ts'
import { ask, type ModelEvent, type ModelItem } from './model.ts'
import { fan, type Peer } from './peer.ts'

const TOOL_RESULT = 10_000

export interface ThreadOptions {
  readonly id: string
  readonly file: string
  readonly cwd: string
  readonly model: URL
}

/** A conversation: history in memory, a line in a file for each thing said, and the clients that watch. */
export class Thread {
  readonly options: ThreadOptions
  readonly peers = new Set<Peer>()
  readonly createdAt = Math.floor(Date.now() / 1000)
  preview = ''
  readonly #history: unknown[] = []
  #unsaved = ''
  #active = false

  constructor(options: ThreadOptions) {
    this.options = options
  }

  /** What clients see of it. */
  get shown(): object {
    const { id, file: path, cwd } = this.options
    const { preview, createdAt } = this
    const status = { type: this.#active ? 'active' : 'idle' }
    return { id, preview, createdAt, updatedAt: createdAt, cwd, status, modelProvider: 'mock', path, turns: [] }
  }

  /** Runs a turn and says how it ends. */
  async run(turn: string, text: string): Promise<void> {
    this.#active = true
    this.preview ||= text
    this.note('turn/started', { turn: { id: turn, status: 'inProgress', items: [] } })
    this.#keep({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
    const error = await this.#steps(turn).then(
      () => null,
      why => ({ message: String(why) }),
    )
    this.#active = false
    const status = error ? 'failed' : 'completed'
    this.note('turn/completed', { turn: { id: turn, status, items: [], error } })
  }

  note(method: string, params: object): void {
    fan(this.peers, JSON.stringify({ method, params: { threadId: this.options.id, ...params } }))
  }

  async #steps(turn: string): Promise<void> {
    for (let call = await this.#step(turn); call; call = await this.#step(turn)) await this.#command(turn, call)
  }

  /** One answer of the model; gives the command it wants run. */
  async #step(turn: string): Promise<ModelItem | null> {
    let call: ModelItem | null = null
    const relay = this.#relay(turn)
    const onEvent = (event: ModelEvent): void => {
      relay(event)
      if (event.type === 'response.output_item.done' && event.item?.type === 'function_call') call = event.item
    }
    await ask({ base: this.options.model, input: this.#history, onEvent, pause: () => this.#slowest() })
    return call
  }

  /** Passes a message on to the clients. What never changes in its deltas is written once. */
  #relay(turn: string): (event: ModelEvent) => void {
    const { id: threadId } = this.options
    let head = ''
    let text = ''
    return ({ type, delta, item }) => {
      if (type === 'response.output_text.delta') {
        fan(this.peers, `${head}${JSON.stringify(delta)}}}`)
        text += delta
      } else if (type === 'response.output_item.added' && item?.type === 'message') {
        const ids = JSON.stringify({ threadId, turnId: turn, itemId: item.id }).slice(0, -1)
        head = `{"method":"item/agentMessage/delta","params":${ids},"delta":`
        this.#item('item/started', turn, { type: 'agentMessage', id: item.id, text: '' })
      } else if (type === 'response.output_item.done' && item) {
        this.#keep(item)
        if (item.type === 'message') this.#item('item/completed', turn, { type: 'agentMessage', id: item.id, text })
      }
    }
  }

  async #command(turn: string, { call_id: id = '', arguments: args = '{}' }: ModelItem): Promise<void> {
    const { cmd: command } = JSON.parse(args) as { readonly cmd: string }
    const item = { type: 'commandExecution', id, command }
    this.#item('item/started', turn, { ...item, status: 'inProgress' })
    const onOutput = (delta: string): void =>
      this.note('item/commandExecution/outputDelta', { turnId: turn, itemId: id, delta })
    const { code: exitCode, text } = await runCommand(command, this.options.cwd, onOutput)
    this.#item('item/completed', turn, { ...item, status: 'completed', exitCode, aggregatedOutput: text })
    this.#keep({ type: 'function_call_output', call_id: id, output: text.slice(0, TOOL_RESULT) })
  }

  #item(method: string, turnId: string, item: object): void {
    this.note(method, { turnId, item })
  }

  /** Adds to the history, and to the file once per tick. */
  #keep(entry: unknown): void {
    this.#history.push(entry)
    if (this.#unsaved === '') setImmediate(() => this.#save())
    this.#unsaved += `${JSON.stringify(entry)}\n`
  }

  #save(): void {
    const text = this.#unsaved
    this.#unsaved = ''
    appendFile(this.options.file, text, () => {})
  }

  #slowest(): Promise<void> | null {
    const behind = [...this.peers].filter(peer => peer.isCongested)
    return behind.length === 0 ? null : Promise.all(behind.map(peer => peer.caughtUp())).then(() => {})
  }
}
