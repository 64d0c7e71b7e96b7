import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms` milliseconds, or until `signal` is aborted: the caller looks at the signal afterwards. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
