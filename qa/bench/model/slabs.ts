import type { ServerResponse } from 'node:http'
import { closing, delta, type Ids, message, opening } from './events.ts'

const SLAB = 256 * 1024
/** One closing event of 40 MB would measure how a server splits lines, not how it streams. */
const FULL_TEXT = 4_000_000

const prebuilt = new Map<string, readonly Buffer[]>()

/** Sends `COUNT` or `COUNT:SIZE` deltas as fast as the socket takes them: they are built once and sent in large slabs. */
export async function sendStream(response: ServerResponse, size: string): Promise<void> {
  const slabs = prebuilt.get(size) ?? build(size)
  prebuilt.set(size, slabs)
  for (const slab of slabs) {
    if (response.destroyed) return
    if (!response.write(slab)) await drained(response)
  }
  response.end()
}

function build(size: string): readonly Buffer[] {
  const [count = 0, bytes = 10] = size.split(':').map(Number)
  const ids: Ids = { response: 'resp_s', message: 'msg_s' }
  const word = 'x'.repeat(bytes)
  const full = message(ids.message, count * bytes > FULL_TEXT ? '(long text left out)' : word.repeat(count))
  const all = Buffer.from(opening(ids) + delta(ids.message, word).repeat(count) + closing(ids, full))
  return Array.from({ length: Math.ceil(all.length / SLAB) }, (_, i) => all.subarray(i * SLAB, (i + 1) * SLAB))
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}
