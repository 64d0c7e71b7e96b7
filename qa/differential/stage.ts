import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../kit/child.ts'
import { dig, digText } from '../kit/dig.ts'
import { type Link, tapped } from '../kit/link.ts'
import { makePlace, type Place, writeInto } from '../kit/place.ts'
import { isCodex, Server, type ServerCommand } from '../kit/server.ts'
import type { Witness } from '../kit/witness.ts'
import { openWs, Refused, type WsAddress, type WsLink } from '../kit/ws-link.ts'
import { MockModel } from '../mock-model.ts'
import { summary } from './model-summary.ts'
import { createNormaliser, type Normaliser } from './normalise.ts'
import type { Line } from './recording.ts'
import { configToml, type Scenario, text } from './scenario.ts'
import { type Message, Talker } from './talker.ts'

/** The goldens are of this version; what a server claims by default is its own business. */
const ENV = { SKEIN_CODEX_VERSION: '0.142.5' }

/** How a turn that a scenario waited for went. */
export interface Turn {
  readonly turnId: string
  /** The refusal, when the turn did not start. */
  readonly error?: unknown
}

/** A connection below the messages: frames, pings and the close code of a WebSocket. */
export interface WsTalker extends Talker {
  readonly socket: WsLink['socket']
}

/** Everything a scenario can do: start servers, open connections, note what is no message. */
export class Stage {
  readonly place: Place
  readonly model: MockModel
  readonly #scenario: Scenario
  readonly #command: ServerCommand
  readonly #witness: Witness | null
  readonly #log: Line[] = []
  readonly #servers: Server[] = []
  readonly #talkers: Talker[] = []
  #listening: Server | null = null

  private constructor(scenario: Scenario, command: ServerCommand, root: string, more: More) {
    this.place = makePlace(root, scenario.name)
    this.model = more.model
    this.#scenario = scenario
    this.#command = command
    this.#witness = more.witness
    const { files = {} } = scenario.setting ?? {}
    for (const [path, content] of Object.entries(files)) writeInto(this.place.cwd, path, content)
    const config = configToml(scenario.setting ?? {}, more.model.port, this.place.cwd)
    writeFileSync(join(this.place.state, 'config.toml'), config, { mode: 0o600 })
  }

  static async open(scenario: Scenario, command: ServerCommand, root: string, witness: Witness | null): Promise<Stage> {
    const model = await MockModel.start(scenario.script ?? [])
    return new Stage(scenario, command, root, { model, witness })
  }

  get cwd(): string {
    return this.place.cwd
  }

  /** The recording so far, with placeholders. */
  recording(): readonly Line[] {
    const clean = this.#normaliser()
    return this.#log.map(({ dir, conn, msg }) => ({ dir, conn, msg: clean(msg) }))
  }

  /** A summary of what the server sent to the model, with placeholders. */
  modelRequests(): readonly unknown[] {
    const clean = this.#normaliser()
    return this.model.requests.map(({ url, body }) => clean(summary(url, body)))
  }

  /** A new server process and the one connection to it. */
  async stdio(): Promise<Talker> {
    const server = Server.stdio({ command: this.#command, place: this.place, args: this.#args, env: ENV })
    this.#servers.push(server)
    return this.#talk(await server.connect())
  }

  /** Starts the ws listener that `ws`, `http` and `rejected` speak to. */
  async listen(auth?: readonly string[]): Promise<void> {
    const start = { command: this.#command, place: this.place, args: this.#args, env: ENV }
    const open = isCodex(this.#command) ? [] : ['--ws-auth', 'off']
    this.#listening = await Server.ws(start, auth ?? open)
    this.#servers.push(this.#listening)
  }

  async ws(more: Partial<WsAddress> = {}): Promise<WsTalker> {
    const link = await this.#listener.connectWs(more)
    const number = this.#talkers.length + 1
    link.socket.on('close', code => this.#note('event', number, { closed: { code, reason: '' } }))
    return Object.assign(this.#talk(link), { socket: link.socket })
  }

  /** Starts a listener on a unix socket and gives its path. */
  async listenUnix(): Promise<string> {
    const socketPath = join(this.place.dir, 's.sock')
    const start = { command: this.#command, place: this.place, args: this.#args, env: ENV }
    this.#listening = await Server.unix(start, socketPath)
    this.#servers.push(this.#listening)
    return socketPath
  }

  /** Tries a handshake that may be refused and notes how it went. */
  async rejected(label: string, more: Partial<WsAddress> = {}): Promise<void> {
    try {
      const link = await openWs({ url: 'ws://localhost/', ...this.#listener.address, ...more })
      this.event({ connect: label, accepted: true })
      link.cut()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      const challenge = error.challenge === null ? {} : { wwwAuthenticate: error.challenge }
      this.event({ connect: label, accepted: false, status: error.status, body: error.body, ...challenge })
    }
  }

  /** A plain HTTP exchange with the listener, noted. */
  http(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<void> {
    return new Promise((resolve, reject) => {
      const port = this.#listener.port
      const call = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, answer => {
        let body = ''
        answer.on('data', chunk => {
          body += chunk
        })
        answer.on('end', () => {
          const contentType = answer.headers['content-type'] ?? null
          const response = { status: answer.statusCode, contentType, body }
          this.#note('http', 0, { request: { method, path, headers }, response })
          resolve()
        })
      })
      call.on('error', reject)
      call.end()
    })
  }

  /** Notes something outside the protocol that the comparison should see. */
  event(msg: object): void {
    this.#note('event', 0, msg)
  }

  /** Starts a thread in the working folder and gives its id. */
  async thread(talker: Talker, params: object = {}): Promise<string> {
    return digText(await talker.ask('thread/start', { cwd: this.cwd, ...params }), 'result.thread.id')
  }

  /** Runs a turn to its end. */
  async turn(talker: Talker, threadId: string, said: string, more: object = {}): Promise<Turn> {
    const from = talker.mark()
    const response = await talker.ask('turn/start', { threadId, input: text(said), ...more })
    if (response.error !== undefined) return { turnId: '', error: response.error }
    const turnId = digText(response, 'result.turn.id')
    await talker.until(message => endsTurn(message, turnId), { from })
    return { turnId }
  }

  /** Ends every connection, server and the model. */
  async close(): Promise<void> {
    for (const talker of this.#talkers) talker.cut()
    // Waiting answers of the model must not hold up the servers' own end.
    this.model.close()
    await Promise.all(this.#servers.map(server => server.stop(500)))
    await sleep(20)
  }

  sleep(ms: number): Promise<void> {
    return sleep(ms)
  }

  /** The last words of the last server, for a failure's report. */
  get lastWords(): string {
    return this.#servers.at(-1)?.lastWords ?? ''
  }

  get #args(): readonly string[] {
    return this.#scenario.setting?.args ?? []
  }

  get #listener(): Server {
    if (!this.#listening) throw new Error('the scenario starts no listener')
    return this.#listening
  }

  #talk(link: Link): Talker {
    const watched = this.#witness ? tapped(link, this.#witness.tap()) : link
    const talker = new Talker(this.#talkers.length + 1, watched, this.#log)
    this.#talkers.push(talker)
    return talker
  }

  #note(dir: 'event' | 'http', conn: number, msg: unknown): void {
    this.#log.push({ dir, conn, msg })
  }

  #normaliser(): Normaliser {
    const { cwd, state, home, tmp, dir } = this.place
    const port = this.#listening && this.#listening.port > 0 ? this.#listening.port : null
    return createNormaliser([
      [cwd, '<CWD>'],
      [state, '<CODEX_HOME>'],
      [home, '<HOME>'],
      [tmp, '<TMP>'],
      [dir, '<DIR>'],
      [process.execPath, '<NODE>'],
      [`127.0.0.1:${this.model.port}`, '127.0.0.1:<MODEL_PORT>'],
      [`${hostname()}.local`, '<HOST>'],
      ...(port === null ? [] : [[`127.0.0.1:${port}`, '127.0.0.1:<PORT>'] as const]),
    ])
  }
}

interface More {
  readonly model: MockModel
  readonly witness: Witness | null
}

/** Whether a message ends that turn. */
export const endsTurn = (message: Message, turnId: string): boolean =>
  message.method === 'turn/completed' && dig(message, 'params.turn.id') === turnId
