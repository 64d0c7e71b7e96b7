import { sleep } from '../../kit/child.ts'
import type { Client } from '../client.ts'
import { cpuOf, usageOf } from '../proc.ts'
import type { Measure, Readings } from '../stage.ts'
import { percentile } from '../stats.ts'

/** CPU seconds per half second below which a server has nothing more to do. */
const IDLE = 0.03
const SETTLE_MS = 60_000

/** What a server weighs, alone and with idle loaded threads, and what starting a thread costs. */
export const memory: Measure = {
  id: 'memory',
  title: '2/3. RSS/PSS of the tree with idle loaded threads; thread/start latency',
  async run(stage, subject, out) {
    const server = stage.instance(subject, stage.freshHome(subject))
    const client = server.stdio()
    await client.initialize()
    await sleep(1000)
    weigh(server.pid, 'after init', out)
    const before = cpuOf(server.pid)
    const sizes = stage.quick ? [1, 50] : [1, 100, 500]
    const starts: number[] = []
    for (const size of sizes) {
      await startUpTo(size, { client, cwd: stage.paths.work, starts })
      await sleep(1500)
      weigh(server.pid, `${size} threads`, out)
    }
    const count = starts.length
    out['thread/start first ms'] = starts[0] ?? Number.NaN
    out['thread/start p50 ms'] = percentile(starts.slice(1), 50)
    out['thread/start p99 ms'] = percentile(starts.slice(1), 99)
    out['quiet after last start s'] = await untilIdle(server.pid)
    out['CPU ms per thread/start incl. background'] = ((cpuOf(server.pid) - before) / count) * 1000
    const quiet = weigh(server.pid, `${count} threads, quiet`, out)
    const idleFrom = cpuOf(server.pid)
    await sleep(3000)
    out['idle CPU % with all threads, after quiet'] = ((cpuOf(server.pid) - idleFrom) / 3) * 100
    out['MiB per thread (USS)'] = (quiet - Number(out['1 threads USS MiB'])) / (count - 1)
    await server.stop()
  },
}

async function startUpTo(
  size: number,
  { client, cwd, starts }: { readonly client: Client; readonly cwd: string; readonly starts: number[] },
): Promise<void> {
  while (starts.length < size) {
    const since = performance.now()
    await client.startThread(cwd)
    starts.push(performance.now() - since)
  }
}

/** Notes what the tree uses; gives its private memory. */
function weigh(pid: number, tag: string, out: Readings): number {
  const { rss, pss, uss, threads, fds } = usageOf(pid)
  out[`${tag} PSS MiB`] = pss
  out[`${tag} USS MiB`] = uss
  out[`${tag} RSS MiB`] = rss
  out[`${tag} OS threads`] = threads
  out[`${tag} fds`] = fds
  return uss
}

/** Waits for work in the background (a login shell for each thread, say) to end; gives the seconds it took. */
async function untilIdle(pid: number): Promise<number> {
  const since = performance.now()
  let before = cpuOf(pid)
  for (let quiet = 0; quiet < 3 && performance.now() - since < SETTLE_MS; ) {
    await sleep(500)
    const now = cpuOf(pid)
    quiet = now - before < IDLE ? quiet + 1 : 0
    before = now
  }
  return (performance.now() - since) / 1000 - 1.5
}
