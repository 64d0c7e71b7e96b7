import type { Client, TurnTimes } from '../client.ts'
import type { Instance } from '../instance.ts'
import { Peak } from '../peak.ts'
import { cpuOf } from '../proc.ts'
import type { Measure, Readings, Stage } from '../stage.ts'
import { nowNs, stampOf } from '../stamp.ts'
import { percentile } from '../stats.ts'

/** Many clients watch one thread: the model sends a thousand deltas a second, then all of them at once. */
export const fanout: Measure = {
  id: 'fanout',
  title: '6. ws fan-out to 50 subscribers',
  async run(stage, subject, out) {
    for (const [mode, everyUs] of [
      ['paced', 1000],
      ['burst', 0],
    ] as const) {
      const server = stage.instance(subject, stage.freshHome(subject))
      await server.listen()
      const { owner, threadId, watchers } = await audience(stage, server, stage.size(50, 10))
      const count = stage.size(2000, 500)
      const lag = measureLag([...watchers, owner])
      const before = cpuOf(server.pid)
      const peak = new Peak(server.pid)
      const { wall, failure } = await playTo(watchers, () => owner.turn(threadId, `stamp:${count}:${everyUs}`, WAIT_MS))
      const { rss } = peak.stop()
      if (failure) out[`${mode} owner`] = failure
      report(mode, { watchers, count, wall, cpu: cpuOf(server.pid) - before }, out)
      out[`${mode} max lag ms`] = lag.max()
      out[`${mode} lag p50 ms`] = percentile(lag.samples, 50)
      out[`${mode} peak RSS MiB`] = rss
      for (const client of [...watchers, owner]) client.wire.close()
      await server.stop()
    }
  },
}

const WAIT_MS = 60_000
/** One delta in so many is kept for the median. */
const SAMPLE = 64

/** A thread with its owner and `size` others who have joined it. */
async function audience(stage: Stage, server: Instance, size: number) {
  const owner = await server.connect()
  await owner.initialize()
  const threadId = await owner.startThread(stage.paths.work)
  await owner.turn(threadId, 'ok')
  const watchers: Client[] = []
  for (let i = 0; i < size; i += 1) {
    const client = await server.connect()
    await client.initialize()
    await client.request('thread/resume', { threadId })
    watchers.push(client)
  }
  for (const client of [...watchers, owner]) client.reset()
  return { owner, threadId, watchers }
}

/** How long deltas are under way from the model to each of the clients. */
function measureLag(clients: readonly Client[]): { readonly samples: readonly number[]; max(): number } {
  const samples: number[] = []
  let max = 0
  for (const client of clients) {
    client.onDelta = frame => {
      const lag = (nowNs() - stampOf(frame).sent) / 1e6
      max = Math.max(max, lag)
      if (client.deltas % SAMPLE === 0) samples.push(lag)
    }
  }
  return { samples, max: () => max }
}

/** Runs the turn; `wall` (ms) ends when the last of the clients has seen its end. */
async function playTo(
  watchers: readonly Client[],
  turn: () => Promise<TurnTimes>,
): Promise<{ readonly wall: number; readonly failure: string | null }> {
  const since = performance.now()
  const ends = watchers.map(client =>
    client
      .until(note => note.method === 'turn/completed', WAIT_MS)
      .met.then(
        note => note.at,
        () => since,
      ),
  )
  let failure: string | null = null
  const own = await turn().then(
    times => since + times.total,
    why => {
      failure = String(why)
      return since
    },
  )
  return { wall: Math.max(own, ...(await Promise.all(ends))) - since, failure }
}

interface Outcome {
  readonly watchers: readonly Client[]
  readonly count: number
  readonly wall: number
  readonly cpu: number
}

function report(mode: string, { watchers, count, wall, cpu }: Outcome, out: Readings): void {
  const frames = watchers.reduce((sum, client) => sum + client.deltas, 0)
  const gone = watchers.filter(client => client.closed !== null)
  out[`${mode} complete subscribers`] = watchers.filter(client => client.deltas === count).length
  out[`${mode} disconnected`] = gone.length
  out[`${mode} close`] = [...new Set(gone.map(client => JSON.stringify(client.closed)))].join(' ') || 'none'
  out[`${mode} frames/s`] = frames / (wall / 1000)
  out[`${mode} wall ms`] = wall
  out[`${mode} CPU s`] = cpu
  out[`${mode} CPU us/frame`] = (cpu / Math.max(1, frames)) * 1e6
}
