import type { TurnError, TurnErrorKind } from '../events.ts'
import { object, parseEvent } from './fields.ts'
import type { ModelFailure } from './model.ts'
import { usageLimitText } from './usage-limit.ts'

/** What a failure means: how it may be tried again, and what a person is told when it is not. */
export interface Verdict {
  /** The same request may be sent again unseen: nothing of an answer has come. */
  readonly silent: boolean
  /** The step may start again, with a notice. */
  readonly visible: boolean
  readonly error: TurnError
}

/** Judges a failure as codex 0.142.5 does, in its words (goldens `fail-*`, `retry-*`); where it is kinder, it says why. */
export function judge(failure: ModelFailure): Verdict {
  switch (failure.kind) {
    case 'http':
      return judgeHttp(failure)
    case 'failed':
      return judgeCode(failure)
    case 'network':
      return unreachable(failure)
    case 'truncated':
    case 'timeout':
      return again(disconnected(failure))
    case 'tooLarge':
      return never(disconnected(failure))
    case 'aborted':
      return never({ message: failure.message })
    default:
      return failure.kind satisfies never
  }
}

interface Words {
  readonly message: string
  readonly kind?: TurnErrorKind
  readonly status?: number
}

const error = ({ message, kind = 'other', status }: Words): TurnError => ({
  message,
  details: null,
  kind,
  status: status ?? null,
})
const never = (words: Words): Verdict => ({ silent: false, visible: false, error: error(words) })
/** A visible retry. */
const again = (words: Words): Verdict => ({ silent: false, visible: true, error: error(words) })
/** Silent retries first, then visible ones. */
const anyhow = (words: Words): Verdict => ({ silent: true, visible: true, error: error(words) })

const disconnected = ({ message }: ModelFailure): Words => ({
  message: `stream disconnected before completion: ${message}`,
})

/** A failure with a URL came before any answer did. A provider that cannot be found at all has a kind of its own. */
function unreachable(failure: ModelFailure): Verdict {
  const words = disconnected(failure)
  if (failure.url === undefined) return again(words)
  const nobody = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(failure.code ?? '')
  return anyhow(nobody ? { ...words, kind: 'connectionFailed' } : words)
}

const OVERLOADED: Words = {
  message: 'Selected model is at capacity. Please try a different model.',
  kind: 'serverOverloaded',
}
const OUT_OF_ROOM: Words = {
  message:
    "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
  kind: 'contextWindowExceeded',
}
const NO_QUOTA: Words = {
  message: 'Quota exceeded. Check your plan and billing details.',
  kind: 'usageLimitExceeded',
}

/** Codes that mean the same on every wire and in both places where a provider can say them. */
function known(failure: ModelFailure): Words | undefined {
  switch (failure.code) {
    case 'context_length_exceeded':
    case 'exceed_context_size_error':
      return OUT_OF_ROOM
    case 'insufficient_quota':
      return NO_QUOTA
    case 'server_is_overloaded':
    case 'slow_down':
    case 'overloaded_error':
      return OVERLOADED
    default:
      // Most servers other than OpenAI say it in words alone.
      return /maximum context length|context (size|window|length).{0,40}exceed|exceed.{0,40}context (size|window|length)|prompt is too long/i.test(
        failure.message,
      )
        ? OUT_OF_ROOM
        : undefined
  }
}

/** A failure that the provider announced inside its stream. */
function judgeCode(failure: ModelFailure): Verdict {
  const { code = '', message } = failure
  const words = known(failure)
  // Codex gives up on an overloaded model at once; a short wait mostly helps (field report B132).
  if (words) return words === OVERLOADED ? again(words) : never(words)
  switch (code) {
    case 'invalid_prompt':
    case 'invalid_request_error':
      return never({ message, kind: 'badRequest' })
    case 'missing_key':
      return never({ message, kind: 'unauthorized' })
    default:
  }
  // OpenRouter's codes are HTTP statuses; those of the 400s will not change by asking again.
  const final = /^4\d\d$/.test(code) && code !== '408' && code !== '429'
  const status = /^[45]\d\d$/.test(code) ? Number(code) : undefined
  const shown: Words = { ...disconnected(failure), ...(status !== undefined && { status }) }
  return final ? never(shown) : again(shown)
}

/** An answer that was no stream. */
function judgeHttp(failure: ModelFailure): Verdict {
  const { status = 0, body = '' } = failure
  const words = known(failure)
  if (words) return words === OVERLOADED ? anyhow({ ...words, status }) : never({ ...words, status })
  if (status < 300) return again(noStream(failure))
  if (status === 429) return tooMany(failure)
  if (status === 400) return never({ message: body.slice(0, MAX_RAW) || unexpected(failure), status })
  if (status === 402) return never({ message: unexpected(failure), kind: 'usageLimitExceeded', status })
  if (status === 500) return anyhow({ message: HIGH_DEMAND, kind: 'internalServerError', status })
  const shown: Words = { message: unexpected(failure), status }
  // Codex starts such a step again five times; a refused key or a model that is not there stays what it is.
  return status >= 500 || status === 408 || status === 425 ? anyhow(shown) : never(shown)
}

const HIGH_DEMAND = "We're currently experiencing high demand, which may cause temporary errors."

/** 429 is not tried again, unless the provider says when. */
function tooMany(failure: ModelFailure): Verdict {
  const { body = '', status = 429, statusText = '' } = failure
  const limit = object(parseEvent(body)?.error)
  if (limit.type === 'usage_limit_reached')
    return never({ message: usageLimitText(limit), kind: 'usageLimitExceeded', status })
  const message = `exceeded retry limit, last status: ${status} ${statusText}`.trimEnd()
  const silent = failure.retryAfterMs !== undefined
  return { silent, visible: false, error: error({ message, kind: 'tooManyAttempts', status }) }
}

/** Characters of a raw body that a person is shown. */
const MAX_RAW = 8 * 1024
/** Codex cuts an unexpected answer here. */
const MAX_UNEXPECTED = 1000

function unexpected({ status, statusText, body = '', message, url }: ModelFailure): string {
  const said = message === `HTTP ${status}` ? body.trim() || 'Unknown error' : message
  const cut = said.length > MAX_UNEXPECTED ? `${said.slice(0, MAX_UNEXPECTED)}...` : said
  return `unexpected status ${`${status} ${statusText ?? ''}`.trimEnd()}: ${cut}, url: ${url}`
}

/** A success that is a page or a document: a login page of the network, or a base URL that leads nowhere. */
function noStream({ body = '', url }: ModelFailure): Words {
  const start = body.trim().replace(/\s+/g, ' ').slice(0, 200)
  return {
    message: `stream disconnected before completion: ${url} answered without an event stream: ${start || 'nothing'}`,
  }
}
