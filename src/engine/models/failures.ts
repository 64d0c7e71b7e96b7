import { STATUS_CODES } from 'node:http'
import { filled, object, parseEvent } from './fields.ts'
import type { ModelFailure } from './model.ts'

/** What a provider says about its own failure, in whatever shape: `{error:{code,message}}`, `{error:"text"}`, flat. */
export interface Complaint {
  readonly code: string | null
  readonly message: string | null
}

/** Reads a provider's complaint; `value` is an error body, or the `error` of a stream event. */
export function complaint(value: unknown): Complaint {
  if (typeof value === 'string') return { code: null, message: filled(value) }
  const outer = object(value)
  if (outer.error !== undefined && outer.error !== null) return complaint(outer.error)
  const { code, type } = outer
  return {
    code: filled(code) ?? (typeof code === 'number' ? String(code) : filled(type)),
    message: filled(outer.message) ?? filled(outer.detail),
  }
}

/** A failure the provider announced in its stream. `retry-after` is read from its words, as codex does. */
export function failed(value: unknown): ModelFailure {
  const { code, message } = complaint(value)
  const wait = /try again in\s*(\d+(?:\.\d+)?)\s*(ms|s|seconds?)\b/i.exec(message ?? '')
  return {
    kind: 'failed',
    message: message ?? code ?? 'the provider gave no reason',
    ...(code !== null && { code }),
    ...(wait && { retryAfterMs: Math.ceil(Number(wait[1]) * (wait[2]?.toLowerCase() === 'ms' ? 1 : 1000)) }),
  }
}

/** The parts of an HTTP answer that a failure keeps. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  /** At most 64 KiB. */
  readonly body: string
  readonly url: string
}

/** A failure from an HTTP answer that is not an event stream. `now` is in milliseconds, for dates in `retry-after`. */
export function refused({ status, headers, body, url }: ErrorAnswer, now: number): ModelFailure {
  const { code, message } = complaint(parseEvent(body))
  const retryAfterMs = retryAfter(headers, now)
  return {
    kind: 'http',
    message: message ?? `HTTP ${status}`,
    status,
    statusText: STATUS_CODES[status] ?? '',
    body,
    url,
    ...(code !== null && { code }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** Milliseconds from `retry-after-ms` or `retry-after` (seconds or an HTTP date); undefined when absent or nonsense. */
export function retryAfter(headers: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const ms = headers['retry-after-ms']
  if (typeof ms === 'string' && /^\d+(\.\d+)?$/.test(ms.trim())) return Math.ceil(Number(ms))
  const value = headers['retry-after']
  if (typeof value !== 'string' || value.trim() === '') return undefined
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Math.ceil(Number(value) * 1000)
  // An HTTP date ends in GMT; Date.parse alone would also take "-5".
  const at = /GMT\s*$/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
