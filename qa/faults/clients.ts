import { clientPlace, type Host, openHost, TOKEN_VARIABLE } from '../clients/host.ts'
import { clientCommand } from '../clients/install.ts'
import { type Outcome, run, words } from '../clients/program.ts'
import type { Rules } from '../clients/rules.ts'
import { openBackend } from '../kit/backend.ts'
import { wanted } from '../kit/options.ts'
import type { Place } from '../kit/place.ts'
import { eventually } from '../kit/server.ts'
import { runAlone, type Session } from '../kit/session.ts'

/** One way to spoil what passes between a real client and the server, and what the client then does. */
interface Fault {
  readonly name: string
  readonly rules: Rules
  /** How it ends: well with the answer, with an error, or never. */
  readonly ends: 'well' | 'badly' | 'never'
}

const drop = (...methods: readonly string[]): Rules => ({ drop: methods })

/**
 * What we rely on in the real `codex exec --remote` 0.171.0. The first half says what may be missing, late or strange; the
 * second what must be right: when one of these stops being fatal the client has become more lenient, and when one of the others
 * starts to be, we have a new duty.
 */
const FAULTS: readonly Fault[] = [
  { name: 'nothing', rules: {}, ends: 'well' },
  { name: 'no deltas', rules: drop('item/agentMessage/delta'), ends: 'well' },
  { name: 'no item ever starts', rules: drop('item/started'), ends: 'well' },
  { name: 'no item ever completes', rules: drop('item/completed'), ends: 'well' },
  { name: 'no status, usage or thread notifications', rules: drop('^thread/'), ends: 'well' },
  { name: 'no turn starts', rules: drop('turn/started'), ends: 'well' },
  { name: 'threads cannot be read', rules: { deny: ['thread/read', 'thread/items/list'] }, ends: 'well' },
  { name: 'unsubscribing is refused', rules: { deny: ['thread/unsubscribe'] }, ends: 'well' },
  { name: 'no null anywhere', rules: { dropNulls: true }, ends: 'well' },
  { name: 'unknown keys and notifications', rules: { addUnknown: true }, ends: 'well' },
  { name: 'jsonrpc in every frame', rules: { jsonrpc: true }, ends: 'well' },
  { name: 'a late answer to thread/start', rules: { delay: { 'thread/start': 1500 } }, ends: 'well' },
  { name: 'a late end of the turn', rules: { delay: { 'turn/completed': 1500 } }, ends: 'well' },
  { name: 'turn/start is refused', rules: { deny: ['turn/start'] }, ends: 'badly' },
  { name: 'thread/start is refused', rules: { deny: ['thread/start'] }, ends: 'badly' },
  { name: 'a time with a fraction', rules: set('thread/start', 'thread.createdAt', 1783017975.555), ends: 'badly' },
  { name: 'a thread id that is no UUID', rules: set('thread/start', 'thread.id', 'abc'), ends: 'badly' },
  { name: 'no sandbox in thread/start', rules: { remove: { 'thread/start': ['sandbox'] } }, ends: 'badly' },
  { name: 'a status nobody knows', rules: set('thread/start', 'thread.status.type', 'dozing'), ends: 'badly' },
  { name: 'the turn never ends', rules: drop('turn/completed'), ends: 'never' },
]

function set(method: string, path: string, value: unknown): Rules {
  return { set: { [method]: { [path]: value } } }
}

/** How long a client that waits for ever is watched, in milliseconds. */
const PATIENCE_MS = 8000

/** Puts every fault between the real client and the server, and cuts connections in mid-turn. */
export async function faults(session: Session): Promise<void> {
  const backend = await openBackend('offline')
  let host: Host | null = null
  try {
    const codex = await clientCommand('codex-0.171.0')
    const open = await openHost(session, backend, 'token')
    host = open
    const place = clientPlace(session, 'faults', open.place.cwd)
    for (const fault of FAULTS) {
      if (!wanted(fault.name, session.options.only)) continue
      await session.verdicts.check(`faults ${fault.name}`, () => suffer(fault, codex, open, place))
    }
    await session.verdicts.check('faults the connection is cut in mid-turn', () => cutOff(codex, open, place))
  } catch (error) {
    session.verdicts.fail('faults', error instanceof Error ? error.message : String(error))
  } finally {
    await host?.close()
    backend.close()
  }
}

async function suffer(fault: Fault, codex: readonly string[], host: Host, place: Place): Promise<void> {
  host.proxy.rules = fault.rules
  const since = host.proxy.log.length
  try {
    const said = `all is well with ${fault.name.length}`
    const outcome = await exec(codex, host, place, `say: ${said}`, fault.ends === 'never' ? PATIENCE_MS : 30_000)
    const spoilt = host.proxy.log.slice(since).some(passed => passed.rule !== null)
    if (!spoilt && fault.name !== 'nothing') throw new Error(`the fault never happened\n${words(outcome)}`)
    const ends =
      outcome.code === null ? 'never' : outcome.code === 0 && outcome.stdout.includes(said) ? 'well' : 'badly'
    if (ends !== fault.ends) throw new Error(`it ends ${ends}, not ${fault.ends}\n${words(outcome)}`)
  } finally {
    host.proxy.rules = {}
  }
}

/** The client ends with an error, and the server goes on: its next client is served, and the turn is whole. */
async function cutOff(codex: readonly string[], host: Host, place: Place): Promise<void> {
  const since = host.proxy.log.length
  const running = exec(codex, host, place, 'slow: 300\nsay: this takes a little while')
  const streams = (): boolean => JSON.stringify(host.proxy.log.slice(since)).includes('item/agentMessage/delta')
  if (!(await eventually(15_000, streams))) throw new Error('the turn never streamed')
  host.proxy.closeAll(1012)
  const outcome = await running
  if (outcome.code === 0) throw new Error(`it ended well without its server\n${words(outcome)}`)
  const threadId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(outcome.stderr)?.[0]
  if (threadId === undefined) throw new Error(`it named no thread\n${words(outcome)}`)
  let next: Outcome
  do {
    next = await exec(codex, host, place, 'say: here again', 30_000, ['resume', threadId])
    // The turn runs on without its client, who is told so for as long as it does.
  } while (/already has an active turn/.test(next.stderr))
  if (next.code !== 0 || !next.stdout.includes('here again')) throw new Error(`resuming failed\n${words(next)}`)
}

async function exec(
  codex: readonly string[],
  host: Host,
  place: Place,
  prompt: string,
  ms = 30_000,
  verb: readonly string[] = [],
): Promise<Outcome> {
  const door = ['--remote', host.url, '--remote-auth-token-env', TOKEN_VARIABLE]
  const argv = [...codex, 'exec', '--skip-git-repo-check', ...door, ...verb, prompt]
  return run(argv, place, { [TOKEN_VARIABLE]: host.token ?? '' }, ms)
}

if (import.meta.filename === process.argv[1]) await runAlone(faults)
