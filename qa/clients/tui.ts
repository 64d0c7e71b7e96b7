import { type Backend, openBackend } from '../kit/backend.ts'
import { wanted } from '../kit/options.ts'
import { runAlone, type Session } from '../kit/session.ts'
import { MockModel } from '../mock-model.ts'
import { clientPlace, type Host, openHost, TOKEN_VARIABLE } from './host.ts'
import { type ClientName, clientCommand } from './install.ts'
import { STEPS, type Steps, TOKEN_STEPS } from './tui-steps.ts'
import { Tmux } from './tui-tmux.ts'
import { Walk } from './tui-walk.ts'

const VERSIONS = ['0.142.5', '0.171.0'] as const
const DOORS = ['ws', 'unix'] as const
type Door = (typeof DOORS)[number]

/** What does not depend on the model is walked on the offline one only; behind Chat Completions there is one model to pick. */
const LEFT_OUT: Readonly<Record<Backend, readonly string[]>> = {
  offline: [],
  responses: ['command remembered', 'patch cancelled', 'status', 'new'],
  chat: ['command remembered', 'patch cancelled', 'status', 'new', 'model'],
}

/**
 * The unmodified Codex TUI of both versions spends a day on the server, in a terminal whose screen is read: over a WebSocket
 * with the token and over a unix socket on the offline model, and a shorter day over the WebSocket on the others.
 * Words on the command line narrow it to a version or a door.
 */
export async function tui(session: Session): Promise<void> {
  for (const version of chosen(session, VERSIONS)) {
    let codex: readonly string[]
    try {
      codex = await clientCommand(`codex-${version}` satisfies ClientName)
    } catch (error) {
      session.verdicts.fail(`tui ${version}`, reason(error))
      continue
    }
    for (const model of session.options.models) {
      for (const door of chosen(session, model === 'offline' ? DOORS : (['ws'] as const))) {
        await walkAlone(session, { version, codex, model, door })
      }
    }
  }
}

interface Day {
  readonly version: string
  readonly codex: readonly string[]
  readonly model: Backend
  readonly door: Door
}

/** Starts all that a day needs, spends it, and ends all of that whatever happened. */
async function walkAlone(session: Session, day: Day): Promise<void> {
  const name = `tui ${day.version} ${day.door} ${day.model}`
  const ends: (() => Promise<void> | void)[] = []
  try {
    const backend = await openBackend(day.model)
    ends.push(() => backend.close())
    const second = day.model === 'offline' ? await MockModel.start() : null
    ends.push(() => second?.close())
    const host = await openHost(session, backend, day.door === 'ws' ? 'token' : 'unix', config(second))
    ends.push(() => host.close())
    const place = clientPlace(session, `tui-${day.version}-${day.door}`, host.place.cwd)
    const tmux = await Tmux.start(place, host.token === null ? {} : { [TOKEN_VARIABLE]: host.token })
    ends.push(() => tmux.close())
    const walk = new Walk({ ...day, host, place, tmux, second })
    await take(session, walk, name)
    await session.verdicts.check(`${name}: the server lives and complains of nothing`, () => checkServer(host))
    if (session.options.keep) session.verdicts.note(`frames: ${walk.saveWire()}`)
  } catch (error) {
    session.verdicts.fail(name, reason(error))
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function take(session: Session, walk: Walk, name: string): Promise<void> {
  const { model, host } = walk.options
  const steps: Steps = host.token === null ? STEPS : { ...STEPS, ...TOKEN_STEPS }
  for (const [title, step] of Object.entries(steps)) {
    if (LEFT_OUT[model].includes(title) || !wanted(title, session.options.only)) continue
    const passed = await session.verdicts.check(`${name}: ${title}`, async () => {
      await step(walk)
      await walk.checkAlive()
    })
    // What a failed step left on the screen must not spoil the next one.
    if (!passed) await walk.end()
  }
  await walk.end()
}

/** Temporary folders are everywhere here; a patch outside of the working directory must ask all the same. */
function config(second: MockModel | null): string {
  const lines = ['exclude_slash_tmp', 'exclude_tmpdir_env_var'].map(key => `sandbox_workspace_write.${key} = true`)
  if (second === null) return lines.join('\n')
  const keys = { base_url: second.baseUrl, experimental_bearer_token: 'qa' }
  const openai = Object.entries(keys).map(([key, value]) => `model_providers.openai.${key} = "${value}"`)
  return ['model_provider = "offline"', ...lines, ...openai].join('\n')
}

function checkServer({ server }: Host): void {
  const { exitCode, signalCode } = server.child
  if (exitCode !== null || signalCode !== null) throw new Error(`it ended with ${signalCode ?? exitCode}`)
  if (/^\s+at |\berror\b/im.test(server.lastWords)) throw new Error(`it says\n${server.lastWords}`)
}

/** Those named on the command line, else all. */
function chosen<T extends string>(session: Session, all: readonly T[]): readonly T[] {
  const { rest } = session.options
  const isNarrowed = [...VERSIONS, ...DOORS].some(word => rest.includes(word) && all.includes(word as T))
  return isNarrowed ? all.filter(word => rest.includes(word)) : all
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error))

if (import.meta.filename === process.argv[1]) await runAlone(tui)
