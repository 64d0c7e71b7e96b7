import { isObject } from '../base/json.ts'
import { scanEnvelope } from './envelope.ts'
import { INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR } from './error.ts'
import type { Merge } from './frame.ts'
import { Frame } from './frame.ts'

/**
 * The JSON text of a request id exactly as it came (`7`, `"a"`, `9007199254740993`), so that it can be echoed byte for byte.
 */
export type RawId = string

/** What one incoming text is. */
export type Incoming =
  | { readonly kind: 'request'; readonly id: RawId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: RawId; readonly result: unknown }
  /** `id` is the text `null` where the peer could not read ours: answering that would only start a quarrel. */
  | { readonly kind: 'failure'; readonly id: RawId; readonly error: unknown }
  /** Must be answered with this error; `id` null where none could be read. */
  | { readonly kind: 'invalid'; readonly id: RawId | null; readonly code: number; readonly message: string }
  /** A blank line: nothing to say. */
  | { readonly kind: 'blank' }

/** Reads one message. Never throws; what is too deep is never parsed. */
export function readMessage(text: string): Incoming {
  if (text.trim() === '') return { kind: 'blank' }
  const envelope = scanEnvelope(text)
  const id = readId(envelope.id)
  if (envelope.deep) return invalid(id, envelope.fault ?? '')
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'invalid', id: null, code: PARSE_ERROR, message: `Parse error: ${reason}` }
  }
  if (!isObject(message)) return invalid(null, 'expected one message object')
  if (envelope.fault !== null) return invalid(id, envelope.fault)
  return classify(message, id)
}

function classify(message: Record<string, unknown>, id: RawId | null): Incoming {
  const { method, params } = message
  const named = Object.hasOwn(message, 'id')
  if (typeof method !== 'string' && Object.hasOwn(message, 'error') && (!named || message.id === null)) {
    return { kind: 'failure', id: 'null', error: message.error }
  }
  if (named && id === null) return invalid(null, 'the id must be a string or a 64-bit integer')
  if (typeof method === 'string') {
    return id === null ? { kind: 'notification', method, params } : { kind: 'request', id, method, params }
  }
  if (id !== null && Object.hasOwn(message, 'result')) return { kind: 'result', id, result: message.result }
  if (id !== null && Object.hasOwn(message, 'error')) return { kind: 'failure', id, error: message.error }
  return invalid(id, Object.hasOwn(message, 'method') ? 'the method must be a string' : 'missing field `method`')
}

function invalid(id: RawId | null, reason: string): Incoming {
  return { kind: 'invalid', id, code: INVALID_REQUEST, message: `Invalid request: ${reason}` }
}

/** `raw` if it may be echoed: a whole JSON string, or an integer that fits 64 bits. */
function readId(raw: string | null): RawId | null {
  if (raw === null) return null
  if (raw.startsWith('"')) return isJson(raw) ? raw : null
  if (!/^-?(?:0|[1-9]\d{0,18})$/.test(raw)) return null
  return BigInt.asIntN(64, BigInt(raw)) === BigInt(raw) ? raw : null
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A success. A result that cannot be encoded becomes an internal error, so that its request is answered all the same. */
export function responseFrame(id: RawId, result: unknown): Frame {
  return new Frame(() => {
    try {
      return `{"id":${id},"result":${JSON.stringify(result) ?? 'null'}}`
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return errorText(id, { code: INTERNAL_ERROR, message: `The result could not be encoded: ${reason}` })
    }
  })
}

/** What an error response says; an `RpcError` is one. */
export interface ErrorBody {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** A failure. `id` null answers what had no readable id. */
export function errorFrame(id: RawId | null, error: ErrorBody): Frame {
  return new Frame(() => errorText(id, error))
}

function errorText(id: RawId | null, { code, message, data }: ErrorBody): string {
  return `{"error":${JSON.stringify({ code, message, data })},"id":${id ?? null}}`
}

/** A notification; without `params` the key is left out. `merge` says how it may be joined with the next when a peer lags. */
export function notificationFrame(method: string, params?: unknown, merge: Merge | null = null): Frame {
  return new Frame(() => JSON.stringify({ method, params }), method, merge)
}

/** A request of ours, under an id of ours. */
export function requestFrame(id: number, method: string, params?: unknown): Frame {
  return new Frame(() => JSON.stringify({ method, id, params }), method, null, true)
}
