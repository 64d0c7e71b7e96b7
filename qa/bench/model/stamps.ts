import type { ServerResponse } from 'node:http'
import { closing, delta, type Ids, message, opening } from './events.ts'

/**
 * Sends deltas whose text says when the request came and when they were sent: `RECEIVED,SENT ` in nanoseconds of the
 * clock that all processes of the machine share. One every `everyUs` microseconds, all at once for 0.
 */
export function sendStamps(response: ServerResponse, ids: Ids, plan: StampPlan): void {
  const step = BigInt(plan.everyUs) * 1000n
  const since = process.hrtime.bigint()
  let sent = 0
  let text = ''
  const isDue = (): boolean => sent < plan.count && process.hrtime.bigint() - since >= step * BigInt(sent)
  const tick = (): void => {
    let out = ''
    for (; isDue(); sent += 1) {
      const stamp = `${plan.received},${process.hrtime.bigint()} `
      text += stamp
      out += delta(ids.message, stamp)
    }
    if (response.destroyed) return
    if (out !== '') response.write(out)
    if (sent >= plan.count) response.end(closing(ids, message(ids.message, text)))
    else setTimeout(tick, Math.max(0, plan.everyUs / 1000 - 0.5))
  }
  response.write(opening(ids))
  tick()
}

export interface StampPlan {
  readonly count: number
  readonly everyUs: number
  /** When the request came. */
  readonly received: bigint
}
