import { sleep } from '../../kit/child.ts'
import type { Client } from '../client.ts'
import { dropIndex, savedThreads } from '../fixtures.ts'
import { cpuOf, usageOf } from '../proc.ts'
import type { Measure, Readings, Stage } from '../stage.ts'
import { median } from '../stats.ts'
import type { Subject } from '../subject.ts'
import { timed } from '../timed.ts'

const WALK_MS = 15_000
const MOST_PAGES = 1000

/** Pages of a picker when there are many saved threads: without, then with, what the server derives from their logs. */
export const list: Measure = {
  id: 'list',
  title: '8a. thread/list first page with many saved threads',
  async run(stage, subject, out) {
    for (const count of stage.quick ? [200] : [1000, 10_000]) {
      const home = stage.configure(subject, await savedThreads(stage, subject, count))
      dropIndex(subject, home)
      await unindexed(stage, subject, { home, count, out })
      await indexed(stage, subject, { home, count, out })
    }
  },
}

interface Round {
  readonly home: string
  readonly count: number
  readonly out: Readings
}

async function unindexed(stage: Stage, subject: Subject, { home, count, out }: Round): Promise<void> {
  const server = stage.instance(subject, home)
  const client = server.stdio()
  await client.initialize()
  out[`${count}: init, no index ms`] = performance.now() - server.spawnedAt
  out[`${count}: init, no index CPU s`] = cpuOf(server.pid)
  const before = cpuOf(server.pid)
  const first = await timed(() => firstPage(client))
  out[`${count}: first list, no index ms`] = first.ms
  out[`${count}: first list rows`] = first.value.data.length
  const warm: number[] = []
  for (let i = 0; i < 10; i += 1) warm.push((await timed(() => firstPage(client))).ms)
  out[`${count}: warm list p50 ms`] = median(warm)
  out[`${count}: list CPU ms (of 11)`] = ((cpuOf(server.pid) - before) / 11) * 1000
  const walkFrom = cpuOf(server.pid)
  const walk = await timed(() => walkAll(client, count))
  out[`${count}: walk all pages ms`] = walk.ms
  out[`${count}: walk all pages CPU s`] = cpuOf(server.pid) - walkFrom
  out[`${count}: rows seen walking`] = walk.value
  out[`${count}: RSS MiB`] = usageOf(server.pid).rss
  await server.stop()
}

async function indexed(stage: Stage, subject: Subject, { home, count, out }: Round): Promise<void> {
  const server = stage.instance(subject, home)
  const client = server.stdio()
  await client.initialize()
  out[`${count}: init, with index ms`] = performance.now() - server.spawnedAt
  out[`${count}: first list, with index ms`] = (await timed(() => firstPage(client))).ms
  await server.stop()
}

/** The 25 newest of all providers. */
const firstPage = (client: Client) => client.request('thread/list', { limit: 25, modelProviders: [] })

/** Walks all pages, again while an index that is still being made hides some; gives the rows of the last walk. */
async function walkAll(client: Client, count: number): Promise<number> {
  const end = performance.now() + WALK_MS
  for (;;) {
    const rows = await walkOnce(client)
    if (rows >= count || performance.now() > end) return rows
    await sleep(500)
  }
}

async function walkOnce(client: Client): Promise<number> {
  let rows = 0
  let cursor: string | null = null
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page: { readonly data: readonly unknown[]; readonly nextCursor: string | null } = await client.request(
      'thread/list',
      { limit: 100, cursor, modelProviders: [] },
    )
    rows += page.data.length
    cursor = page.nextCursor
    if (cursor === null) break
  }
  return rows
}
