import { type Client, patiently } from '../client.ts'
import { cpuOf } from '../proc.ts'
import type { Measure, Readings } from '../stage.ts'
import { percentile } from '../stats.ts'
import { timed } from '../timed.ts'

/** What the server adds to a turn: the model answers at once. */
export const turns: Measure = {
  id: 'turns',
  title: '4. turn overhead with an instant model',
  async run(stage, subject, out) {
    const server = stage.instance(subject, stage.freshHome(subject))
    const client = server.stdio()
    await client.initialize()
    const cwd = stage.paths.work
    const first = await client.startThread(cwd)
    out['first turn ms'] = (await client.turn(first, 'ok')).total
    await oneByOne(client, first, { count: stage.size(50, 20), pid: server.pid, out })
    const plan = stage.quick
      ? [
          [1, 10],
          [10, 40],
        ]
      : [
          [1, 20],
          [10, 100],
          [50, 150],
          [200, 400],
        ]
    const pool: string[] = []
    for (const [width = 1, total = 1] of plan) {
      while (pool.length < width) pool.push(await warmThread(client, cwd))
      await sideBySide(client, pool.slice(0, width), { count: total, pid: server.pid, out })
    }
    await server.stop()
  },
}

interface Round {
  readonly count: number
  readonly pid: number
  readonly out: Readings
}

async function warmThread(client: Client, cwd: string): Promise<string> {
  const id = await client.startThread(cwd)
  await client.turn(id, 'ok')
  return id
}

async function oneByOne(client: Client, id: string, { count, pid, out }: Round): Promise<void> {
  const before = cpuOf(pid)
  const total: number[] = []
  const ack: number[] = []
  for (let i = 0; i < count; i += 1) {
    const times = await client.turn(id, 'ok')
    total.push(times.total)
    ack.push(times.ack)
  }
  out['seq p50 ms'] = percentile(total, 50)
  out['seq p99 ms'] = percentile(total, 99)
  out['seq ack p50 ms'] = percentile(ack, 50)
  out['CPU ms/turn'] = ((cpuOf(pid) - before) / count) * 1000
}

/** Each thread takes the next turn when it has done its last one, until `count` turns are done by all together. */
async function sideBySide(client: Client, ids: readonly string[], { count, pid, out }: Round): Promise<void> {
  const tag = `c=${ids.length}`
  const before = cpuOf(pid)
  const since = performance.now()
  const took: number[] = []
  let left = count
  let refused = 0
  let failed = 0
  const one = async (id: string): Promise<void> => {
    if ((await client.turn(id, 'ok')).status !== 'completed') failed += 1
  }
  const onRefusal = (): void => {
    refused += 1
  }
  const work = async (id: string): Promise<void> => {
    while (left > 0) {
      left -= 1
      took.push((await timed(() => patiently(() => one(id), onRefusal, Number.POSITIVE_INFINITY))).ms)
    }
  }
  await Promise.all(ids.map(work))
  out[`${tag} turns/s`] = count / ((performance.now() - since) / 1000)
  out[`${tag} p99 ms`] = percentile(took, 99)
  out[`${tag} p50 ms`] = percentile(took, 50)
  out[`${tag} CPU ms/turn`] = ((cpuOf(pid) - before) / count) * 1000
  out[`${tag} -32001 rejections`] = refused
  if (failed > 0) out[`${tag} failed`] = failed
}
