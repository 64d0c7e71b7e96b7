import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../src/base/json.ts'
import type { Backend } from '../kit/backend.ts'
import type { Place } from '../kit/place.ts'
import { eventually } from '../kit/server.ts'
import type { MockModel } from '../mock-model.ts'
import { type Host, TOKEN_VARIABLE } from './host.ts'
import { framed, Pane, quoted } from './tui-pane.ts'
import type { Tmux } from './tui-tmux.ts'

/** What one person does with one TUI on one server. */
export interface WalkOptions {
  /** The TUI's version. */
  readonly version: string
  readonly codex: readonly string[]
  readonly host: Host
  /** The TUI's own folders; it works in the server's cwd. */
  readonly place: Place
  readonly tmux: Tmux
  readonly model: Backend
  /** The model behind the server's second provider; null when it has one provider only. */
  readonly second: MockModel | null
}

/** How long a turn may take to end on the wire after its last words are on the screen. */
const TURN_END_MS = 30_000

const WORKING = /esc to interrupt/
/** The composer: it is there when the TUI is ready for input. */
export const COMPOSER = /^› /m
/** The line below it names model and folder once the thread is there; commands sent before that are swallowed. */
const READY = /^ +\S.* · \//m

/** A TUI that is driven step by step, with what several steps need. */
export class Walk {
  readonly options: WalkOptions
  #pane: Pane | null = null

  constructor(options: WalkOptions) {
    this.options = options
  }

  /** Whether the frames between TUI and server are seen: a unix socket is spoken to directly. */
  get isWatched(): boolean {
    return this.options.host.token !== null
  }

  /** The TUI, started first when there is none: a step can be judged although the one before it lost the TUI. */
  async tui(): Promise<Pane> {
    await this.checkAlive()
    return this.#pane ?? this.start()
  }

  /** Fails when the TUI has ended without being told to. */
  async checkAlive(): Promise<void> {
    const code = (await this.#pane?.exitCode()) ?? null
    if (code !== null) throw new Error(`the TUI ended by itself with ${code}\n${await this.#shown()}`)
  }

  /** Starts a TUI in place of the one there was; `door` overrides the way to the server. */
  async start(args: readonly string[] = [], door: readonly string[] = this.remote()): Promise<Pane> {
    const pane = await this.launch(args, door)
    await pane.see(COMPOSER, /OpenAI Codex/, READY)
    return pane
  }

  /** The same without waiting for the composer: for a start that must fail. */
  async launch(args: readonly string[], door: readonly string[]): Promise<Pane> {
    await this.#pane?.close()
    this.#pane = null
    const { tmux, codex } = this.options
    this.#pane = await Pane.open(tmux, [...codex, ...args, ...door])
    return this.#pane
  }

  /** Flags that lead to the server: by the proxy where it has one, or past it with `direct`. */
  remote(direct = false): readonly string[] {
    const { host } = this.options
    if (host.token === null) return ['--remote', host.directUrl]
    return ['--remote', direct ? host.directUrl : host.url, '--remote-auth-token-env', TOKEN_VARIABLE]
  }

  /** A message and the words its answer must show. A word is looked for as a line of an answer. */
  async turn(text: string, ...answers: readonly string[]): Promise<Pane> {
    const tui = await this.tui()
    await tui.say(text)
    await tui.see(...answers.map(answerLine))
    await this.rest()
    return tui
  }

  /** Waits until nothing runs: neither on the screen nor, where it is seen, on the wire. */
  async rest(): Promise<void> {
    await (await this.tui()).lose(WORKING)
    if (await eventually(TURN_END_MS, () => this.#openTurns().size === 0)) return
    throw new Error(`no turn/completed for ${[...this.#openTurns()].join(' and ')}\n${await this.#shown()}`)
  }

  /** Where the log of the wire stands now, to be given to `sent`. */
  get mark(): number {
    return this.options.host.proxy.log.length
  }

  /** Fails unless the TUI has sent these requests since `mark`; unwatched, there is nothing to see. */
  async sent(mark: number, ...methods: readonly string[]): Promise<void> {
    if (!this.isWatched) return
    const missing = (): readonly string[] => {
      const seen = this.options.host.proxy.requests(mark)
      return methods.filter(method => !seen.includes(method))
    }
    if (await eventually(TURN_END_MS, () => missing().length === 0)) return
    throw new Error(`the TUI never sent ${missing().join(' and ')}\n${await this.#shown()}`)
  }

  /** Fails when the file is not there in time. */
  async made(name: string): Promise<void> {
    if (await eventually(TURN_END_MS, () => existsSync(this.file(name)))) return
    throw new Error(`${name} was never made\n${await this.#shown()}`)
  }

  async notMade(name: string): Promise<void> {
    if (existsSync(this.file(name))) throw new Error(`${name} was made\n${await this.#shown()}`)
  }

  remove(name: string): void {
    rmSync(this.file(name), { force: true })
  }

  /** A file in the folder both the server and the TUI work in. */
  file(name: string): string {
    return join(this.options.host.place.cwd, name)
  }

  /** Lets go of the pane, with the TUI when it still runs. */
  async end(): Promise<void> {
    await this.#pane?.close()
    this.#pane = null
  }

  /** Keeps the frames of this walk for whoever has to mend what they show; one frame a line. */
  saveWire(): string {
    const file = join(this.options.place.dir, 'wire.jsonl')
    const lines = this.options.host.proxy.log.map(passed => JSON.stringify(passed))
    writeFileSync(file, `${lines.join('\n')}\n`)
    return file
  }

  #openTurns(): ReadonlySet<string> {
    const open = new Set<string>()
    for (const { way, frame } of this.options.host.proxy.log) {
      if (way !== 'in' || !isObject(frame) || !isObject(frame.params) || !isObject(frame.params.turn)) continue
      if (frame.method === 'turn/started') open.add(String(frame.params.turn.id))
      if (frame.method === 'turn/completed') open.delete(String(frame.params.turn.id))
    }
    return open
  }

  async #shown(): Promise<string> {
    return this.#pane ? framed(await this.#pane.screen()) : '(no TUI)'
  }
}

/** A line of an answer: behind the bullet or, from the second line on, indented. */
export const answerLine = (text: string): RegExp => new RegExp(`^[•✔ ] ${quoted(text)}$`, 'm')
