import { appendFileSync } from 'node:fs'
import { sleep } from '../../kit/child.ts'
import { dig, digText } from '../../kit/dig.ts'
import { logsOf } from '../fixtures.ts'
import type { Measure, Readings, Stage } from '../stage.ts'
import type { Subject } from '../subject.ts'

const TURN_MS = 20_000
/** Half of a line, as a crash in the middle of a write leaves it. */
const TORN = '{"timestamp":"2026-11-30T15:00:00.000Z","type":"event_msg","payl'

/** What `kill -9` costs: text that was on its way, and turns that were said to be done. */
export const crash: Measure = {
  id: 'crash',
  title: '13. kill -9 in mid-turn, restart, resume',
  async run(stage, subject, out) {
    const home = stage.freshHome(subject)
    const { id, seen } = await killInMidTurn(stage, subject, home)
    out['deltas client saw before kill'] = seen.deltas
    await comeBack({ stage, subject, home, id, seen: seen.text, out }, 'after kill -9')
    const count = stage.size(5, 2)
    out[`completed turns lost to immediate kill -9 (of ${count})`] = await countLost(stage, subject, count)
    const log = logsOf(home).at(-1)
    if (log === undefined) return
    appendFileSync(log, TORN)
    await comeBack({ stage, subject, home, id, seen: seen.text, out }, 'torn tail')
  },
}

/** One turn done, one killed after a hundred deltas; gives what the client had seen of it. */
async function killInMidTurn(stage: Stage, subject: Subject, home: string) {
  const server = stage.instance(subject, home)
  const client = server.stdio()
  await client.initialize()
  const id = await client.startThread(stage.paths.work)
  await client.turn(id, 'say:turn one done')
  client.reset()
  const seen = { text: '', deltas: 0 }
  client.onDelta = frame => {
    seen.deltas += 1
    seen.text += digText(JSON.parse(frame.toString()), 'params.delta')
  }
  const turn = client.turn(id, 'stamp:400:5000', TURN_MS)
  turn.catch(() => {})
  while (seen.deltas < 100 && client.closed === null) await sleep(5)
  await server.crash()
  return { id, seen: { ...seen } }
}

interface Return {
  readonly stage: Stage
  readonly subject: Subject
  readonly home: string
  readonly id: string
  /** The text of the turn that was killed, as far as the client got it. */
  readonly seen: string
  readonly out: Readings
}

/** Starts again: is the thread listed, what is left of it, and does it go on? */
async function comeBack({ stage, subject, home, id, seen, out }: Return, tag: string): Promise<void> {
  const server = stage.instance(subject, home)
  const client = server.stdio()
  await client.initialize()
  const page = await client.request('thread/list', { limit: 5, modelProviders: [] })
  out[`${tag}: listed`] = page.data.some(thread => thread.id === id) ? 'yes' : 'NO'
  try {
    const { thread } = await client.request('thread/resume', { threadId: id })
    out[`${tag}: spawn->resumed ms`] = performance.now() - server.spawnedAt
    out[`${tag}: thread status`] = JSON.stringify(thread.status)
    const read = await client.request('thread/read', { threadId: id, includeTurns: true })
    const turns = thread.turns.length > 0 ? thread.turns : read.thread.turns
    out[`${tag}: turns`] = turns.map(brief).join(' ')
    // The killed turn is the second one; a later return finds turns behind it.
    out[`${tag}: partial text kept %`] = keptShare(textOf(turns[1]), seen)
    out[`${tag}: next turn`] = (await client.turn(id, 'say:after', TURN_MS)).status
  } catch (why) {
    out[`${tag}: resume`] = String(why).slice(0, 200)
  }
  await server.stop()
}

interface ShownTurn {
  readonly status: unknown
  readonly items: readonly unknown[]
}

const brief = ({ status, items }: ShownTurn): string => `${String(status)}[${items.map(briefItem).join(',')}]`

function briefItem(item: unknown): string {
  const type = String(dig(item, 'type'))
  return type === 'agentMessage' ? `agent:${String(dig(item, 'text')).length}ch` : type
}

const textOf = (turn: ShownTurn | undefined): string =>
  (turn?.items ?? [])
    .filter(item => dig(item, 'type') === 'agentMessage')
    .map(item => String(dig(item, 'text')))
    .join('')

/** How much of what the client saw is in the history, in percent; text that differs does not count. */
function keptShare(kept: string, seen: string): number {
  if (seen === '') return 0
  if (kept.startsWith(seen)) return 100
  return seen.startsWith(kept) ? (kept.length / seen.length) * 100 : 0
}

/** Kills right after `turn/completed`, again and again; gives how many of those turns were not there afterwards. */
async function countLost(stage: Stage, subject: Subject, count: number): Promise<number> {
  let lost = 0
  for (let i = 0; i < count; i += 1) if (!(await survives(stage, subject))) lost += 1
  return lost
}

async function survives(stage: Stage, subject: Subject): Promise<boolean> {
  const home = stage.freshHome(subject, '-lost')
  const first = stage.instance(subject, home)
  const client = first.stdio()
  await client.initialize()
  const threadId = await client.startThread(stage.paths.work)
  await client.turn(threadId, 'say:durable')
  await first.crash()
  const second = stage.instance(subject, home)
  const reader = second.stdio()
  await reader.initialize()
  const read = await reader.request('thread/read', { threadId, includeTurns: true }).catch(() => null)
  await second.stop()
  const turn = read?.thread.turns.at(-1)
  return turn?.status === 'completed' && textOf(turn).includes('durable')
}
