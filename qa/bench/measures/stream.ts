import { Peak } from '../peak.ts'
import { bytesWritten, cpuOf, writesOf } from '../proc.ts'
import type { Measure } from '../stage.ts'

/** One long answer that the model sends as fast as it is read. */
export const stream: Measure = {
  id: 'stream',
  title: '5. one turn with many deltas to a stdio client',
  async run(stage, subject, out) {
    const server = stage.instance(subject, stage.freshHome(subject))
    const client = server.stdio()
    await client.initialize()
    const id = await client.startThread(stage.paths.work)
    await client.turn(id, 'ok')
    const count = stage.size(20_000, 5000)
    client.reset()
    const before = { cpu: cpuOf(server.pid), written: bytesWritten(server.pid), writes: writesOf(server.pid) }
    const peak = new Peak(server.pid)
    const { total } = await client.turn(id, `stream:${count}`)
    const { rss } = peak.stop()
    const cpu = cpuOf(server.pid) - before.cpu
    out['deltas received'] = client.deltas
    out['frames per model delta'] = client.frames / count
    out['turn ms'] = total
    out['deltas/s'] = count / (total / 1000)
    out['first->last delta ms'] = client.lastDeltaAt - client.firstDeltaAt
    out['CPU s'] = cpu
    out['CPU us/delta'] = (cpu / count) * 1e6
    out['peak RSS MiB'] = rss
    out['bytes to client/delta'] = client.bytes / count
    out['write syscalls/delta'] = (writesOf(server.pid) - before.writes) / count
    out['bytes written total MB'] = (bytesWritten(server.pid) - before.written) / 1e6
    await server.stop()
  },
}
