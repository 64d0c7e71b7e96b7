import { Agent, request } from 'node:http'
import type { Client } from '../client.ts'
import type { Measure } from '../stage.ts'
import { nowNs, stampOf } from '../stamp.ts'
import { percentile } from '../stats.ts'

const ASK = 'stamp:3:0'

/** What the server adds to the wait for the first word, and on which side of the model. */
export const ttfd: Measure = {
  id: 'ttfd',
  title: '7. time to first delta',
  async run(stage, subject, out) {
    const direct = await askDirectly(stage.paths.modelUrl, 40)
    const server = stage.instance(subject, stage.freshHome(subject))
    const client = server.stdio()
    await client.initialize()
    const id = await client.startThread(stage.paths.work)
    for (let i = 0; i < 3; i += 1) await client.turn(id, 'ok')
    const waits: Wait[] = []
    for (let i = 0; i < stage.size(60, 20); i += 1) waits.push(await firstDelta(client, id))
    const all = waits.map(wait => wait.all)
    out['direct p50 ms'] = percentile(direct, 50)
    out['via server p50 ms'] = percentile(all, 50)
    out['via server p99 ms'] = percentile(all, 99)
    out['added p50 ms'] = percentile(all, 50) - percentile(direct, 50)
    out['turn/start -> model request p50 ms'] = percentile(
      waits.map(wait => wait.there),
      50,
    )
    out['model delta -> client p50 ms'] = percentile(
      waits.map(wait => wait.back),
      50,
    )
    out['model delta -> client p99 ms'] = percentile(
      waits.map(wait => wait.back),
      99,
    )
    await server.stop()
  },
}

/** Milliseconds: from `turn/start` to the first delta, to the model's request, and from the model's delta to us. */
interface Wait {
  readonly all: number
  readonly there: number
  readonly back: number
}

async function firstDelta(client: Client, id: string): Promise<Wait> {
  const since = nowNs()
  let wait: Wait | null = null
  client.onDelta = frame => {
    if (wait) return
    const now = nowNs()
    const { received, sent } = stampOf(frame)
    wait = { all: (now - since) / 1e6, there: (received - since) / 1e6, back: (now - sent) / 1e6 }
  }
  await client.turn(id, ASK)
  return wait ?? { all: Number.NaN, there: Number.NaN, back: Number.NaN }
}

/** The same question put to the model without a server in between, over one kept connection. */
async function askDirectly(url: string, count: number): Promise<readonly number[]> {
  const agent = new Agent({ keepAlive: true })
  const took: number[] = []
  for (let i = 0; i < count; i += 1) took.push(await firstChunk(url, agent))
  agent.destroy()
  return took
}

function firstChunk(url: string, agent: Agent): Promise<number> {
  const content = [{ type: 'input_text', text: ASK }]
  const body = JSON.stringify({ model: 'm', stream: true, input: [{ type: 'message', role: 'user', content }] })
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const since = nowNs()
  let first = Number.NaN
  return new Promise((resolve, reject) => {
    const call = request(`${url}/responses`, { method: 'POST', agent, headers }, response => {
      response.once('data', () => {
        first = (nowNs() - since) / 1e6
      })
      response.resume().on('end', () => resolve(first))
    })
    call.on('error', reject)
    call.end(body)
  })
}
