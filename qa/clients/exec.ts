import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../src/base/json.ts'
import { type Backend, openBackend } from '../kit/backend.ts'
import { wanted } from '../kit/options.ts'
import type { Place } from '../kit/place.ts'
import { runAlone, type Session } from '../kit/session.ts'
import { clientPlace, type Host, openHost, TOKEN_VARIABLE } from './host.ts'
import { clientCommand } from './install.ts'
import { type Outcome, run, words } from './program.ts'

/**
 * The unmodified `codex exec --remote` 0.171.0 has a conversation with a model through the server, over a WebSocket with the
 * token: text, events, resuming, a failed turn, a wrong token, a command and a patch.
 */
export async function exec(session: Session): Promise<void> {
  let codex: readonly string[]
  try {
    codex = await clientCommand('codex-0.171.0')
  } catch (error) {
    session.verdicts.fail('exec', error instanceof Error ? error.message : String(error))
    return
  }
  for (const model of session.options.models) await execWith(session, codex, model)
}

async function execWith(session: Session, codex: readonly string[], model: Backend): Promise<void> {
  const backend = await openBackend(model)
  try {
    for (const [config, steps] of [
      ['', STEPS],
      ['sandbox_mode = "danger-full-access"', FREE_STEPS],
    ] as const) {
      const host = await openHost(session, backend, 'token', config)
      const stage = new ExecStage(codex, host, clientPlace(session, 'exec', host.place.cwd))
      for (const [name, step] of Object.entries(steps)) {
        if (!wanted(name, session.options.only)) continue
        await session.verdicts.check(`exec ${name} with ${model}`, () => step(stage))
      }
      await host.close()
    }
  } catch (error) {
    session.verdicts.fail(`exec with ${model}`, error instanceof Error ? error.message : String(error))
  } finally {
    backend.close()
  }
}

/** What the steps share: the client, the server and what earlier steps found out. */
class ExecStage {
  readonly host: Host
  readonly place: Place
  /** Thread of the first conversation. */
  threadId = ''
  readonly #codex: readonly string[]

  constructor(codex: readonly string[], host: Host, place: Place) {
    this.#codex = codex
    this.host = host
    this.place = place
  }

  /** Runs the client against the proxy, or past it with `direct`. */
  async codex(args: readonly string[], more: { direct?: boolean; token?: string | null } = {}): Promise<Outcome> {
    const { host } = this
    const token = more.token === undefined ? host.token : more.token
    const door = ['--remote', more.direct ? host.directUrl : host.url]
    const auth = token === null ? [] : ['--remote-auth-token-env', TOKEN_VARIABLE]
    const env: Record<string, string> = token === null ? {} : { [TOKEN_VARIABLE]: token }
    return run([...this.#codex, 'exec', '--skip-git-repo-check', ...door, ...auth, ...args], this.place, env)
  }
}

type Steps = Readonly<Record<string, (stage: ExecStage) => Promise<void>>>

const STEPS: Steps = {
  async text(stage) {
    const outcome = await stage.codex(['say: hello from exec'])
    expectEnd(outcome, 0)
    if (outcome.stdout.trim() !== 'hello from exec')
      throw new Error(`the answer is not alone on stdout\n${words(outcome)}`)
  },

  async direct(stage) {
    const outcome = await stage.codex(['say: straight through'], { direct: true })
    expectEnd(outcome, 0)
    expectText(outcome, 'straight through')
  },

  async json(stage) {
    const outcome = await stage.codex(['--json', 'say: hello as events'])
    expectEnd(outcome, 0)
    const events = outcome.stdout.trim().split('\n').map(readEvent)
    const types = events.map(event => event.type)
    for (const type of ['thread.started', 'turn.started', 'item.completed', 'turn.completed']) {
      if (!types.includes(type)) throw new Error(`no ${type} among ${types.join(', ')}\n${words(outcome)}`)
    }
    const texts = events.flatMap(({ item }) => (isObject(item) && item.type === 'agent_message' ? [item.text] : []))
    if (texts.join() !== 'hello as events') throw new Error(`the message events say ${JSON.stringify(texts)}`)
    stage.threadId = String(events.find(event => event.type === 'thread.started')?.thread_id)
  },

  async resume(stage) {
    if (stage.threadId === '') throw new Error('the step json found no thread')
    const outcome = await stage.codex(['resume', stage.threadId, 'say: and once more'])
    expectEnd(outcome, 0)
    expectText(outcome, 'and once more')
    if (!outcome.stderr.includes(stage.threadId)) throw new Error(`it speaks of another thread\n${words(outcome)}`)
  },

  async 'resume nobody'(stage) {
    const outcome = await stage.codex(['resume', '00000000-0000-7000-8000-000000000000', 'say: x'])
    if (outcome.code === 0 || outcome.code === null) throw new Error(`resuming nothing went well\n${words(outcome)}`)
  },

  async 'wrong token'(stage) {
    const outcome = await stage.codex(['say: x'], { direct: true, token: 'w'.repeat(43) })
    if (outcome.code === 0 || outcome.code === null) throw new Error(`a wrong token got in\n${words(outcome)}`)
    if (outcome.stdout.includes('x')) throw new Error(`a wrong token got an answer\n${words(outcome)}`)
  },

  async 'no token'(stage) {
    const outcome = await stage.codex(['say: x'], { direct: true, token: null })
    if (outcome.code === 0 || outcome.code === null) throw new Error(`no token got in\n${words(outcome)}`)
  },

  async 'failed turn'(stage) {
    const outcome = await stage.codex(['fail: server_error the model broke'])
    if (outcome.code !== 1) throw new Error(`a failed turn must end with 1\n${words(outcome)}`)
    expectText({ ...outcome, stdout: outcome.stderr }, 'ERROR:')
  },

  async command(stage) {
    const outcome = await stage.codex(['--json', 'run: ls -a\nsay: listed'])
    expectEnd(outcome, 0)
    const items = outcome.stdout
      .trim()
      .split('\n')
      .map(readEvent)
      .map(event => event.item)
      .filter(isObject)
    const command = items.findLast(item => item.type === 'command_execution')
    if (command?.exit_code !== 0) throw new Error(`no command that ended well\n${words(outcome)}`)
  },
}

/** Steps for a server whose configuration lets commands and patches do what they like: this client answers no approval. */
const FREE_STEPS: Steps = {
  async patch(stage) {
    const outcome = await stage.codex(['write: exec-new.txt = made\nsay: written'])
    expectEnd(outcome, 0)
    if (!existsSync(join(stage.place.cwd, 'exec-new.txt')))
      throw new Error(`the file was not written\n${words(outcome)}`)
  },
}

function expectEnd(outcome: Outcome, code: number): void {
  if (outcome.code !== code) throw new Error(`it did not end with ${code}\n${words(outcome)}`)
}

function expectText(outcome: Outcome, text: string): void {
  if (!outcome.stdout.includes(text)) throw new Error(`it did not say ${JSON.stringify(text)}\n${words(outcome)}`)
}

function readEvent(line: string): Record<string, unknown> {
  const event: unknown = JSON.parse(line)
  if (!isObject(event)) throw new Error(`no event: ${line}`)
  return event
}

if (import.meta.filename === process.argv[1]) await runAlone(exec)
