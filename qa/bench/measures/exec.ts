import { spawn } from 'node:child_process'
import { dig } from '../../kit/dig.ts'
import type { Client } from '../client.ts'
import { cleanEnv, type Instance } from '../instance.ts'
import { Peak } from '../peak.ts'
import { cpuOf, usageOf } from '../proc.ts'
import type { Measure, Paths, Readings, Stage } from '../stage.ts'
import { percentile } from '../stats.ts'

/** Commands: what the shortest one costs, and one that says a lot. */
export const exec: Measure = {
  id: 'exec',
  title: '9. command execution',
  async run(stage, subject, out) {
    const server = stage.instance(subject, stage.freshHome(subject))
    const client = server.stdio()
    await client.initialize()
    const id = await client.startThread(stage.paths.work)
    await client.turn(id, 'ok')
    await client.turn(id, 'sh:true')
    await shortest(client, id, { count: stage.size(20, 6), out })
    out['bare node spawn of bash -lc true ms'] = await bareSpawn(stage.paths, 20)
    await talkative(client, id, { stage, server, out })
    await server.stop()
  },
}

async function shortest(client: Client, id: string, { count, out }: { count: number; out: Readings }): Promise<void> {
  const plain: number[] = []
  const withCommand: number[] = []
  const items = commandTimes(client)
  for (let i = 0; i < count; i += 1) {
    plain.push((await client.turn(id, 'ok')).total)
    withCommand.push((await client.turn(id, 'sh:true')).total)
  }
  out['plain turn p50 ms'] = percentile(plain, 50)
  out['sh:true turn p50 ms'] = percentile(withCommand, 50)
  out['overhead p50 ms'] = percentile(withCommand, 50) - percentile(plain, 50)
  out['exec item started->completed p50 ms'] = percentile(items, 50)
}

/** Fills with the time each command item was open. */
function commandTimes(client: Client): readonly number[] {
  const times: number[] = []
  let since = Number.NaN
  client.listen(({ method, params, at }) => {
    if (dig(params, 'item.type') !== 'commandExecution') return
    if (method === 'item/started') since = at
    else if (method === 'item/completed') times.push(at - since)
  })
  return times
}

async function bareSpawn(paths: Paths, count: number): Promise<number> {
  const env = cleanEnv(paths)
  const since = performance.now()
  for (let i = 0; i < count; i += 1) {
    await new Promise(resolve => spawn('/bin/bash', ['-lc', 'true'], { env, stdio: 'ignore' }).on('close', resolve))
  }
  return (performance.now() - since) / count
}

/** Ten megabytes of output, most of which nobody can want to keep. */
async function talkative(
  client: Client,
  id: string,
  { stage, server, out }: { readonly stage: Stage; readonly server: Instance; readonly out: Readings },
): Promise<void> {
  const before = { uss: usageOf(server.pid).uss, cpu: cpuOf(server.pid), bytes: client.bytes }
  const peak = new Peak(server.pid, 20)
  const deltas = outputDeltas(client)
  const command = `yes ${'0123456789'.repeat(8)} | head -c ${stage.size(10_485_760, 1_048_576)}`
  const { total, status } = await client.turn(id, `sh:${command}`, 60_000)
  const { uss } = peak.stop()
  out['10MB output turn ms'] = total
  out['10MB output peak USS growth MiB'] = uss - before.uss
  out['10MB output retained USS MiB'] = usageOf(server.pid).uss - before.uss
  out['10MB output CPU s'] = cpuOf(server.pid) - before.cpu
  out['10MB outputDelta frames'] = deltas.frames
  out['10MB outputDelta MB'] = deltas.size / 1e6
  out['10MB bytes to client MB'] = (client.bytes - before.bytes) / 1e6
  out['10MB status'] = status
}

/** Counts the pieces of output that come, and their characters. */
function outputDeltas(client: Client): { readonly frames: number; readonly size: number } {
  const seen = { frames: 0, size: 0 }
  client.listen(({ method, params }) => {
    if (method !== 'item/commandExecution/outputDelta') return
    seen.frames += 1
    seen.size += String(dig(params, 'delta')).length
  })
  return seen
}
