import type { TurnError } from '../events.ts'
import { judge } from './judge.ts'
import type { ModelFailure } from './model.ts'

/** How often a provider may be asked again. */
export interface RetryLimits {
  readonly requestMaxRetries: number
  readonly streamMaxRetries: number
}

/** What to do after a failure. */
export type AfterFailure =
  | { readonly type: 'fail'; readonly error: TurnError }
  | {
      readonly type: 'retry'
      readonly delayMs: number
      /** What a person is shown of it; null for a retry that nobody needs to know of. */
      readonly notice: TurnError | null
    }

/** Plans the retries of one model step. */
export interface RetryPlan {
  after(failure: ModelFailure): AfterFailure
}

/** Codex's first delay, in milliseconds; it doubles with each retry and varies by a tenth either way. */
const BASE_MS = 200
/** Longest delay, whatever the number of the retry. */
const MAX_DELAY_MS = 30_000
/** A provider that wants to be left alone for longer gets no retry: the person is told instead of kept waiting. */
const MAX_RETRY_AFTER_MS = 60_000

/**
 * Codex's retries: a request that was refused or did not arrive is sent again in silence; when that is used up, or the
 * stream broke later, the step starts again as a visible retry (`Reconnecting... 1/5`), with fresh silent ones.
 * `random` gives numbers from 0 to 1.
 */
export function planRetries(limits: RetryLimits, random: () => number = Math.random): RetryPlan {
  let silent = 0
  let visible = 0
  return {
    after(failure) {
      const verdict = judge(failure)
      const { retryAfterMs = 0 } = failure
      if (retryAfterMs > MAX_RETRY_AFTER_MS) return { type: 'fail', error: verdict.error }
      if (verdict.silent && silent < limits.requestMaxRetries) {
        silent++
        return { type: 'retry', delayMs: Math.max(backoff(silent, random), retryAfterMs), notice: null }
      }
      if (!verdict.visible || visible >= limits.streamMaxRetries) return { type: 'fail', error: verdict.error }
      visible++
      silent = 0
      const notice = reconnecting(verdict.error, `${visible}/${limits.streamMaxRetries}`)
      return { type: 'retry', delayMs: Math.max(backoff(visible, random), retryAfterMs), notice }
    },
  }
}

const backoff = (nth: number, random: () => number): number =>
  Math.min(MAX_DELAY_MS, Math.round(BASE_MS * 2 ** (nth - 1) * (0.9 + 0.2 * random())))

const reconnecting = ({ message, status }: TurnError, nth: string): TurnError => ({
  message: `Reconnecting... ${nth}`,
  details: message,
  kind: 'streamDisconnected',
  status,
})
