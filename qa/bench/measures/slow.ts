import { sleep } from '../../kit/child.ts'
import type { Client } from '../client.ts'
import type { Instance } from '../instance.ts'
import { Peak } from '../peak.ts'
import { usageOf } from '../proc.ts'
import type { Measure, Readings, Stage } from '../stage.ts'
import type { Subject } from '../subject.ts'

const TURN_MS = 120_000
const BYTES = 2000

/** One of three clients stops reading while 40 MB are streamed: what it costs the server and the others. */
export const slow: Measure = {
  id: 'slow',
  title: '10. slow ws reader',
  async run(stage, subject, out) {
    await play(stage, subject, { tag: 'baseline', stuck: false, out })
    await play(stage, subject, { tag: 'with slow reader', stuck: true, out })
  },
}

interface Plan {
  readonly tag: string
  readonly stuck: boolean
  readonly out: Readings
}

async function play(stage: Stage, subject: Subject, { tag, stuck, out }: Plan): Promise<void> {
  const server = stage.instance(subject, stage.freshHome(subject))
  await server.listen()
  const { owner, slowOne, other, threadId } = await threeClients(stage, server)
  if (stuck) slowOne.wire.pause()
  const before = usageOf(server.pid).uss
  const peak = new Peak(server.pid, 50)
  const end = other.until(note => note.method === 'turn/completed', TURN_MS)
  const turn = await owner
    .turn(threadId, `stream:${stage.size(20_000, 5000)}:${BYTES}`, TURN_MS)
    .catch(why => why as Error)
  const otherEnd = await end.met.then(() => 'completed', String)
  const { uss, rss } = peak.stop()
  if (turn instanceof Error) out[`${tag}: owner error`] = turn.message.slice(0, 120)
  else out[`${tag}: turn ms`] = turn.total
  out[`${tag}: owner deltas`] = owner.deltas
  out[`${tag}: good deltas`] = other.deltas
  out[`${tag}: good client`] = otherEnd
  out[`${tag}: peak USS growth MiB`] = uss - before
  out[`${tag}: peak RSS MiB`] = rss
  if (stuck) await wakeUp(server, slowOne, out)
  for (const client of [owner, slowOne, other]) client.wire.close()
  await server.stop()
}

async function threeClients(stage: Stage, server: Instance) {
  const owner = await server.connect()
  await owner.initialize()
  const threadId = await owner.startThread(stage.paths.work)
  await owner.turn(threadId, 'ok')
  const slowOne = await server.connect()
  const other = await server.connect()
  for (const client of [slowOne, other]) {
    await client.initialize()
    await client.request('thread/resume', { threadId })
  }
  for (const client of [owner, slowOne, other]) client.reset()
  return { owner, slowOne, other, threadId }
}

/** The slow one reads again: what did it get, how was it told, and does the server still take newcomers? */
async function wakeUp(server: Instance, slowOne: Client, out: Readings): Promise<void> {
  slowOne.wire.resume()
  await sleep(1500)
  out['slow client got deltas'] = slowOne.deltas
  out['slow client close'] = JSON.stringify(slowOne.closed)
  out['server answers new client after'] = await server
    .connect()
    .then(client => client.initialize())
    .then(() => 'ok', String)
}
