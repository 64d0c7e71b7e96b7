import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { eventually } from './kit/server.ts'
import { playChat } from './mock/chat-wire.ts'
import { stepFor } from './mock/directives.ts'
import { readCall } from './mock/request.ts'
import { playResponses } from './mock/responses-wire.ts'
import type { Step } from './mock/step.ts'

/** One request the mock model got. */
export interface SeenRequest {
  readonly url: string
  readonly body: unknown
}

/** Gates are held in a map of promises with their openers. */
interface Gate {
  readonly passed: Promise<void>
  readonly open: () => void
}

/**
 * A model server on loopback that speaks the Responses API and Chat Completions. With a script each request takes its
 * next step; without one the last message of the person is the script (mock/directives.ts).
 */
export class MockModel {
  readonly requests: SeenRequest[] = []
  readonly #server: Server
  readonly #steps: Step[]
  readonly #scripted: boolean
  readonly #gates = new Map<string, Gate>()
  #answers = 0
  #port = 0

  private constructor(script: readonly Step[] | null) {
    this.#steps = [...(script ?? [])]
    this.#scripted = script !== null
    this.#server = createServer((request, response) => void this.#serve(request, response))
    this.#server.on('clientError', (_error, socket) => socket.destroy())
  }

  /** Starts one on a free port. */
  static async start(script: readonly Step[] | null = null): Promise<MockModel> {
    const mock = new MockModel(script)
    await new Promise<void>(resolve => mock.#server.listen(0, '127.0.0.1', resolve))
    mock.#port = (mock.#server.address() as AddressInfo).port
    return mock
  }

  /** Where it listens; still known when it is closed. */
  get port(): number {
    return this.#port
  }

  /** What a provider's `base_url` must be. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}/v1`
  }

  /** Lets every step pass that waits at this gate, now and later. */
  release(name: string): void {
    this.#gate(name).open()
  }

  /** Waits until it has seen that many requests; throws after `ms` milliseconds. */
  async untilRequests(count: number, ms = 15_000): Promise<void> {
    if (await eventually(ms, () => this.requests.length >= count)) return
    throw new Error(`the model saw ${this.requests.length} requests, not ${count}`)
  }

  /** Ends it and every answer that still waits. */
  close(): void {
    for (const gate of this.#gates.values()) gate.open()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request)
    const url = request.url ?? '/'
    if (request.method === 'GET' && url.includes('/models')) return json(response, 200, MODELS)
    const wire = /\/(responses|chat\/completions)(\/compact)?(\?|$)/.exec(url)?.[1]
    if (request.method !== 'POST' || wire === undefined) return json(response, 404, NOT_FOUND)
    const body = parse(text)
    this.requests.push({ url, body })
    await this.#answer(this.#next(body, text), wire, response)
  }

  async #answer(step: Step, wire: string, response: ServerResponse): Promise<void> {
    this.#answers += 1
    const stage = { n: this.#answers, pass: (name: string) => this.#gate(name).passed }
    if (step.gate !== undefined) await stage.pass(step.gate)
    if (response.destroyed) return
    if (step.status !== undefined) return json(response, step.status, step.body ?? failure(step.status), step.headers)
    await (wire === 'responses' ? playResponses : playChat)(step, stage, response)
  }

  #next(body: unknown, text: string): Step {
    if (!this.#scripted) return stepFor(readCall(body))
    const first = this.#steps[0]
    const step = (first?.repeat ? first : this.#steps.shift()) ?? { say: ['(script exhausted)'] }
    return withSession(step, text)
  }

  #gate(name: string): Gate {
    const known = this.#gates.get(name)
    if (known) return known
    let open = (): void => {}
    const passed = new Promise<void>(resolve => {
      open = resolve
    })
    const gate = { passed, open }
    this.#gates.set(name, gate)
    return gate
  }
}

const MODELS = { object: 'list', data: [{ id: 'mock-model', object: 'model' }], models: [] }
const NOT_FOUND = { error: { message: 'not found' } }

const failure = (status: number): object => ({
  error: { message: `mock failure ${status}`, type: 'mock_error', code: 'mock' },
})

/** "@SESSION" in a step stands for the last background session the server told the model about. */
function withSession(step: Step, requestText: string): Step {
  const session = [...requestText.matchAll(/session ID (\d+)/g)].at(-1)?.[1]
  if (session === undefined) return step
  return JSON.parse(JSON.stringify(step).replaceAll('"@SESSION"', session)) as Step
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
