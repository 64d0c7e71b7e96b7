import type { ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { exitOf, kill, start, within } from '../kit/child.ts'
import { dig } from '../kit/dig.ts'
import { environment, type Place } from '../kit/place.ts'
import type { ServerCommand } from '../kit/server.ts'
import type { Witness } from '../kit/witness.ts'

/** One update of a session, as an editor would get it. */
export type Update = Readonly<Record<string, unknown>>

/** A permission the adapter asked for, and what was chosen. */
export interface Asked {
  readonly title: unknown
  readonly options: readonly string[]
  readonly chosen: string
}

const ANSWER_MS = 30_000

/** An editor's side of the Agent Client Protocol, speaking to one process of codex-acp. */
export class AcpClient {
  /** Updates of sessions, oldest first. */
  readonly updates: Update[] = []
  readonly asked: Asked[] = []
  /** What to answer the next permission with. */
  permission: 'allow' | 'reject' = 'allow'
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (answer: Record<string, unknown>) => void>()
  #lastId = 0
  #stderr = ''

  /** Starts the adapter in `place`; `codex` is what it starts as its server. */
  constructor(adapter: readonly string[], codex: string, place: Place) {
    const env = environment(place, { CODEX_PATH: codex, NO_BROWSER: '1' })
    this.#child = start(adapter, { cwd: place.cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stderr?.on('data', chunk => {
      this.#stderr += chunk
    })
    this.#child.stdin?.on('error', () => {})
    const { stdout } = this.#child
    if (stdout) createInterface({ input: stdout }).on('line', line => this.#take(line))
  }

  /** The last lines of the adapter's standard error. */
  get lastWords(): string {
    return this.#stderr.trim().split('\n').slice(-6).join('\n')
  }

  /** Calls a method and gives its result; throws with the error, or when no answer comes. */
  async call(method: string, params: object): Promise<unknown> {
    this.#lastId += 1
    const id = this.#lastId
    const answered = new Promise<Record<string, unknown>>(resolve => this.#waiting.set(id, resolve))
    this.#send({ id, method, params })
    const answer = await within(ANSWER_MS, answered, null)
    this.#waiting.delete(id)
    if (answer === null) throw new Error(`${method} was not answered\n${this.lastWords}`)
    if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}\n${this.lastWords}`)
    return answer.result
  }

  notify(method: string, params: object): void {
    this.#send({ method, params })
  }

  /** Texts of the updates of one kind since the update `from`, joined. */
  text(kind: string, from = 0): string {
    const chunks = this.updates.slice(from).filter(update => update.sessionUpdate === kind)
    return chunks.map(update => String(dig(update, 'content.text') ?? '')).join('')
  }

  /** Ends it as an editor does, by closing its stdin; gives its exit code, null when it had to be killed. */
  async stop(): Promise<number | null> {
    this.#child.stdin?.end()
    const exit = await within(6000, exitOf(this.#child), null)
    kill(this.#child)
    return exit?.code ?? null
  }

  #send(message: object): void {
    this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #take(line: string): void {
    const message = JSON.parse(line) as Record<string, unknown>
    const { id, method } = message
    if (method === 'session/update') this.updates.push(dig(message, 'params.update') as Update)
    else if (method !== undefined && id !== undefined) this.#answer(message)
    else if (method === undefined) this.#waiting.get(Number(id))?.(message)
  }

  #answer({ id, method, params }: Record<string, unknown>): void {
    if (method === 'session/request_permission') this.#send({ id, result: { outcome: this.#choose(params) } })
    else if (method === 'elicitation/create') this.#send({ id, result: { action: { action: 'decline' } } })
    else this.#send({ id, error: { code: -32601, message: 'this editor has no such method' } })
  }

  #choose(params: unknown): object {
    const options = dig(params, 'options') as readonly { readonly optionId: string; readonly kind: string }[]
    const fits = options.find(option => option.kind.startsWith(this.permission)) ?? options[0]
    const optionId = fits?.optionId ?? ''
    this.asked.push({ title: dig(params, 'toolCall.title'), options: options.map(o => o.optionId), chosen: optionId })
    return { outcome: 'selected', optionId }
  }
}

/** Writes a `codex` that runs the server under test and notes its frames in `folder`; gives its path. */
export function codexInFront(server: ServerCommand, folder: string): string {
  mkdirSync(folder, { recursive: true })
  const tsx = fileURLToPath(import.meta.resolve('tsx'))
  const tee = join(import.meta.dirname, 'tee.ts')
  // The client gives `app-server` itself.
  const command = JSON.stringify(server.slice(0, server.lastIndexOf('app-server')))
  const words = [process.execPath, '--import', tsx, tee, folder, command].map(quoted).join(' ')
  const path = join(folder, 'codex')
  writeFileSync(path, `#!/bin/sh\nexec ${words} "$@"\n`)
  chmodSync(path, 0o755)
  return path
}

/** Shows a witness what went through the processes behind `codexInFront`. */
export function showTo(witness: Witness, folder: string): void {
  for (const file of readdirSync(folder).filter(name => name.endsWith('.jsonl'))) {
    const tap = witness.tap()
    for (const line of readFileSync(join(folder, file), 'utf8').trim().split('\n').slice(1)) {
      const { way, text } = JSON.parse(line) as { readonly way: 'out' | 'in'; readonly text: string }
      tap(way, text)
    }
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
