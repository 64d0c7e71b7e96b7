import type { Client } from '../client.ts'
import { copyHome, type LongThread, longThread } from '../fixtures.ts'
import { Peak } from '../peak.ts'
import { cpuOf, usageOf } from '../proc.ts'
import type { Measure, Readings, Stage } from '../stage.ts'
import { median } from '../stats.ts'
import type { Subject } from '../subject.ts'
import { timed } from '../timed.ts'

const TURN_MS = 60_000
/** Makes a log of 20 MB in codex 0.142.5, which writes each text several times. */
const TEXT = 1550

/** One long conversation: opened, continued, read and paged, each by a process that has just started. */
export const long: Measure = {
  id: 'long',
  title: '8b. thread/read includeTurns and thread/resume on a thread of 2,000 turns',
  async run(stage, subject, out) {
    const thread = await longThread(stage, subject, { turns: stage.size(2000, 200), text: TEXT })
    const home = copyHome(stage, subject, thread.home)
    out['MB on disk'] = thread.bytes / 1e6
    for (const visit of [resumeAndContinue, read, resumeAgain, resumeWithoutTurns]) {
      await visit({ stage, subject, home, thread, out })
    }
  },
}

interface Visit {
  readonly stage: Stage
  readonly subject: Subject
  readonly home: string
  readonly thread: LongThread
  readonly out: Readings
}

/** Nothing is derived from the log yet. */
async function resumeAndContinue({ thread: { id }, out, ...place }: Visit): Promise<void> {
  const { server, client } = await open(place)
  const before = usageOf(server.pid).uss
  const peak = new Peak(server.pid, 50)
  await attempt('resume', out, async () => {
    const from = { cpu: cpuOf(server.pid), bytes: client.bytes }
    const { ms, value } = await timed(() => client.request('thread/resume', { threadId: id }))
    out['resume, no index ms'] = ms
    out['resume turns'] = value.thread.turns.length
    out['resume response MB'] = (client.bytes - from.bytes) / 1e6
    out['resume CPU s'] = cpuOf(server.pid) - from.cpu
  })
  await attempt('turn', out, () => continueThread(client, id, { pid: server.pid, out }))
  out['resume+turns peak USS growth MiB'] = peak.stop().uss - before
  out['loaded long thread USS MiB'] = usageOf(server.pid).uss - before
  await server.stop()
}

async function continueThread(client: Client, id: string, { pid, out }: { pid: number; out: Readings }): Promise<void> {
  const first = await client.turn(id, 'ok', TURN_MS)
  out['first turn after resume ms'] = first.total
  out['first turn status'] = first.status
  const cpu = cpuOf(pid)
  const took: number[] = []
  for (let i = 0; i < 5; i += 1) took.push((await client.turn(id, 'ok', TURN_MS)).total)
  out['turn on long thread p50 ms'] = median(took)
  out['turn on long thread CPU ms'] = ((cpuOf(pid) - cpu) / 5) * 1000
}

/** Looks into the history without loading the thread. */
async function read({ thread: { id: threadId }, out, ...place }: Visit): Promise<void> {
  const { server, client } = await open(place)
  const before = { uss: usageOf(server.pid).uss, cpu: cpuOf(server.pid), bytes: client.bytes }
  const peak = new Peak(server.pid, 50)
  const readAll = () => timed(() => client.request('thread/read', { threadId, includeTurns: true }))
  const page = () => timed(() => client.request('thread/turns/list', { threadId, limit: 20 }))
  await attempt('read', out, async () => {
    const first = await readAll()
    out['read includeTurns ms'] = first.ms
    out['read turns'] = first.value.thread.turns.length
    out['read response MB'] = (client.bytes - before.bytes) / 1e6
    const again: number[] = []
    for (let i = 0; i < 3; i += 1) again.push((await readAll()).ms)
    out['read again ms'] = median(again)
    out['read CPU s (4 reads)'] = cpuOf(server.pid) - before.cpu
  })
  await attempt('turns/list', out, async () => {
    const { ms, value } = await page()
    out['turns/list(20) ms'] = ms
    out['turns/list rows'] = value.data.length
    out['turns/list(20) again ms'] = (await page()).ms
  })
  out['read peak USS growth MiB'] = peak.stop().uss - before.uss
  await server.stop()
}

async function resumeAgain({ thread: { id: threadId }, out, ...place }: Visit): Promise<void> {
  const { server, client } = await open(place)
  await attempt('resume 2', out, async () => {
    out['resume, with index ms'] = (await timed(() => client.request('thread/resume', { threadId }))).ms
  })
  await server.stop()
}

async function resumeWithoutTurns({ thread: { id: threadId }, out, ...place }: Visit): Promise<void> {
  const { server, client } = await open(place)
  await attempt('resume excludeTurns', out, async () => {
    const { ms } = await timed(() => client.request('thread/resume', { threadId, excludeTurns: true }))
    out['resume excludeTurns ms'] = ms
  })
  await server.stop()
}

async function open({ stage, subject, home }: Pick<Visit, 'stage' | 'subject' | 'home'>) {
  const server = stage.instance(subject, home)
  const client = server.stdio()
  await client.initialize()
  return { server, client }
}

/** A method that a server does not have, or that fails, costs its own rows only. */
async function attempt(what: string, out: Readings, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (why) {
    out[`${what} error`] = String(why).slice(0, 160)
  }
}
