import { sleep } from '../../kit/child.ts'
import { type Client, patiently } from '../client.ts'
import type { Instance } from '../instance.ts'
import { cpuOf, usageOf } from '../proc.ts'
import type { Measure, Readings } from '../stage.ts'
import { percentile } from '../stats.ts'

/** A thousand clients at once, and what each of them weighs. */
export const conns: Measure = {
  id: 'conns',
  title: '11. many ws connections',
  async run(stage, subject, out) {
    const server = stage.instance(subject, stage.freshHome(subject))
    await server.listen()
    const first = await server.connect()
    await first.initialize()
    await sleep(500)
    const before = { uss: usageOf(server.pid).uss, cpu: cpuOf(server.pid) }
    const count = stage.size(1000, 100)
    const clients = await rush(server, count, out)
    await sleep(500)
    const { rss, uss, threads } = usageOf(server.pid)
    out['RSS MiB'] = rss
    out['USS KiB per connection'] = ((uss - before.uss) / count) * 1024
    out['OS threads'] = threads
    out['CPU s'] = cpuOf(server.pid) - before.cpu
    const since = performance.now()
    const id = await first.startThread(stage.paths.work)
    out['thread/start with all connected ms'] = performance.now() - since
    out['turn with all connected ms'] = (await first.turn(id, 'ok')).total
    for (const client of clients) client.wire.drop()
    await sleep(1500)
    out['RSS MiB after all closed'] = usageOf(server.pid).rss
    first.wire.close()
    await server.stop()
  },
}

/** All connect and shake hands at the same time; gives those who got in. */
async function rush(server: Instance, count: number, out: Readings): Promise<readonly Client[]> {
  const since = performance.now()
  const waits: number[] = []
  let refused = 0
  let failure = ''
  const one = async (): Promise<Client | null> => {
    try {
      const client = await server.connect()
      const from = performance.now()
      await patiently(
        () => client.initialize(),
        () => {
          refused += 1
        },
      )
      waits.push(performance.now() - from)
      return client
    } catch (why) {
      failure ||= String(why)
      return null
    }
  }
  const all = await Promise.all(Array.from({ length: count }, one))
  const clients = all.filter(client => client !== null)
  out['initialize -32001 rejections'] = refused
  out.connected = clients.length
  if (failure !== '') out['first error'] = failure
  out['all initialized ms'] = performance.now() - since
  out['initialize p50 ms'] = percentile(waits, 50)
  out['initialize p99 ms'] = percentile(waits, 99)
  return clients
}
