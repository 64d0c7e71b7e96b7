import t from 'tap'
import type { TurnError } from '../../../src/engine/events.ts'
import { refused } from '../../../src/engine/models/failures.ts'
import { judge } from '../../../src/engine/models/judge.ts'
import type { ModelFailure } from '../../../src/engine/models/model.ts'
import { planRetries } from '../../../src/engine/models/retry.ts'
import { usageLimitText } from '../../../src/engine/models/usage-limit.ts'

const url = 'http://127.0.0.1:1/v1/responses'
const http = (status: number, body: unknown, headers: Record<string, string> = {}): ModelFailure =>
  refused({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body), url }, 0)
const failed = (code: string, message = 'm'): ModelFailure => ({ kind: 'failed', code, message })
const told = (message: string, kind: TurnError['kind'] = 'other', status: number | null = null): TurnError => ({
  message,
  details: null,
  kind,
  status,
})
const CUT: ModelFailure = { kind: 'network', message: 'Transport error: network error: error decoding response body' }
const RESET: ModelFailure = {
  kind: 'network',
  message: `error sending request for url (${url})`,
  url,
  code: 'ECONNRESET',
}

t.test('it says what codex says', async t => {
  const bad = '{"error":{"message":"bad thing","type":"invalid_request_error","code":"bad"}}'
  const cases: readonly [ModelFailure, 'never' | 'silent' | 'visible' | 'both', TurnError][] = [
    [
      http(401, { error: { message: 'mock failure 401', code: 'mock' } }),
      'never',
      told(`unexpected status 401 Unauthorized: mock failure 401, url: ${url}`, 'other', 401),
    ],
    [http(400, bad), 'never', told(bad, 'other', 400)],
    [http(400, ''), 'never', told(`unexpected status 400 Bad Request: Unknown error, url: ${url}`, 'other', 400)],
    [
      http(404, '<html>no</html>'),
      'never',
      told(`unexpected status 404 Not Found: <html>no</html>, url: ${url}`, 'other', 404),
    ],
    [
      http(307, ''),
      'never',
      told(`unexpected status 307 Temporary Redirect: Unknown error, url: ${url}`, 'other', 307),
    ],
    [
      http(429, { error: { message: 'x' } }),
      'never',
      told('exceeded retry limit, last status: 429 Too Many Requests', 'tooManyAttempts', 429),
    ],
    [
      http(429, 'later', { 'retry-after': '2' }),
      'silent',
      told('exceeded retry limit, last status: 429 Too Many Requests', 'tooManyAttempts', 429),
    ],
    [
      http(429, { error: { type: 'usage_limit_reached', message: 'limit' } }),
      'never',
      told("You've hit your usage limit. Try again later.", 'usageLimitExceeded', 429),
    ],
    [
      http(429, { error: { code: 'insufficient_quota', message: 'pay' } }),
      'never',
      told('Quota exceeded. Check your plan and billing details.', 'usageLimitExceeded', 429),
    ],
    [
      http(402, { error: { message: 'no credits' } }),
      'never',
      told(`unexpected status 402 Payment Required: no credits, url: ${url}`, 'usageLimitExceeded', 402),
    ],
    [
      http(500, { error: { message: 'x' } }),
      'both',
      told("We're currently experiencing high demand, which may cause temporary errors.", 'internalServerError', 500),
    ],
    [http(502, '<html>'), 'both', told(`unexpected status 502 Bad Gateway: <html>, url: ${url}`, 'other', 502)],
    [
      http(503, { error: { code: 'server_is_overloaded', message: 'busy' } }),
      'both',
      told('Selected model is at capacity. Please try a different model.', 'serverOverloaded', 503),
    ],
    [
      http(400, { error: { code: 'context_length_exceeded', message: 'too long' } }),
      'never',
      told(
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        'contextWindowExceeded',
        400,
      ),
    ],
    [
      http(200, '<html>\n  login'),
      'visible',
      told(`stream disconnected before completion: ${url} answered without an event stream: <html> login`),
    ],
    [CUT, 'visible', told(`stream disconnected before completion: ${CUT.message}`)],
    [RESET, 'both', told(`stream disconnected before completion: error sending request for url (${url})`)],
    [
      { ...RESET, code: 'ECONNREFUSED' },
      'both',
      told(`stream disconnected before completion: error sending request for url (${url})`, 'connectionFailed'),
    ],
    [
      { kind: 'truncated', message: 'stream closed before response.completed' },
      'visible',
      told('stream disconnected before completion: stream closed before response.completed'),
    ],
    [
      { kind: 'timeout', message: 'idle timeout waiting for SSE' },
      'visible',
      told('stream disconnected before completion: idle timeout waiting for SSE'),
    ],
    [{ kind: 'tooLarge', message: 'big' }, 'never', told('stream disconnected before completion: big')],
    [{ kind: 'aborted', message: 'a' }, 'never', told('a')],
    [failed('server_error', 'model broke'), 'visible', told('stream disconnected before completion: model broke')],
    [
      failed('context_length_exceeded'),
      'never',
      told(
        "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
        'contextWindowExceeded',
      ),
    ],
    [
      failed('insufficient_quota'),
      'never',
      told('Quota exceeded. Check your plan and billing details.', 'usageLimitExceeded'),
    ],
    [
      failed('server_is_overloaded'),
      'visible',
      told('Selected model is at capacity. Please try a different model.', 'serverOverloaded'),
    ],
    [failed('invalid_prompt', 'no'), 'never', told('no', 'badRequest')],
    [failed('missing_key', 'no key'), 'never', told('no key', 'unauthorized')],
    [failed('402', 'pay'), 'never', told('stream disconnected before completion: pay', 'other', 402)],
    [failed('429', 'slow'), 'visible', told('stream disconnected before completion: slow', 'other', 429)],
    [failed('502', 'gone'), 'visible', told('stream disconnected before completion: gone', 'other', 502)],
    [{ kind: 'failed', message: 'm' }, 'visible', told('stream disconnected before completion: m')],
  ]
  for (const [failure, how, error] of cases) {
    const silent = how === 'silent' || how === 'both'
    const visible = how === 'visible' || how === 'both'
    t.strictSame(judge(failure), { silent, visible, error }, `${failure.kind} ${failure.status ?? failure.code ?? ''}`)
  }
})

t.test('it knows a full context window by what other servers call it', async t => {
  for (const message of [
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    'the request exceeds the available context size, try increasing it',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'The number of tokens to keep from the initial prompt is greater than the context length exceeded',
  ]) {
    t.equal(judge(http(400, { error: { message } })).error.kind, 'contextWindowExceeded', message)
  }
  t.equal(judge(http(400, { error: { message: 'context is required' } })).error.kind, 'other')
})

t.test('it cuts what a provider answers to a length that can be shown', async t => {
  t.equal(
    judge(http(418, 'x'.repeat(5000))).error.message.length,
    1000 + `unexpected status 418 I'm a Teapot: ..., url: ${url}`.length,
  )
  t.equal(judge(http(400, 'y'.repeat(60_000))).error.message.length, 8192)
})

t.test('it retries a request in silence, then the stream with a notice', async t => {
  const plan = planRetries({ requestMaxRetries: 2, streamMaxRetries: 2 }, () => 0.5)
  const details = `stream disconnected before completion: ${RESET.message}`
  const notice = (nth: string) => ({
    message: `Reconnecting... ${nth}`,
    details,
    kind: 'streamDisconnected',
    status: null,
  })
  const retry = (delayMs: number, about: object | null = null) => ({ type: 'retry', delayMs, notice: about })
  t.strictSame(
    Array.from({ length: 9 }, () => plan.after(RESET)),
    [
      retry(200),
      retry(400),
      retry(200, notice('1/2')),
      retry(200),
      retry(400),
      retry(400, notice('2/2')),
      retry(200),
      retry(400),
      { type: 'fail', error: told(details) },
    ],
  )
})

t.test('it retries a broken stream as codex shows it', async t => {
  const plan = planRetries({ requestMaxRetries: 0, streamMaxRetries: 3 }, () => 0)
  t.strictSame(plan.after(CUT), {
    type: 'retry',
    delayMs: 180,
    notice: {
      message: 'Reconnecting... 1/3',
      details: 'stream disconnected before completion: Transport error: network error: error decoding response body',
      kind: 'streamDisconnected',
      status: null,
    },
  })
  t.match(plan.after(RESET), { delayMs: 360, notice: { message: 'Reconnecting... 2/3' } })
  t.match(plan.after(http(500, '')), { delayMs: 720, notice: { message: 'Reconnecting... 3/3', status: 500 } })
  t.match(plan.after(CUT), { type: 'fail' })
})

t.test('it fails at once where another try cannot help, or is not wanted', async t => {
  const limits = { requestMaxRetries: 5, streamMaxRetries: 5 }
  for (const failure of [http(401, ''), http(429, ''), failed('insufficient_quota'), http(400, 'x')]) {
    t.match(planRetries(limits).after(failure), { type: 'fail' })
  }
  const none = planRetries({ requestMaxRetries: 0, streamMaxRetries: 0 })
  for (const failure of [http(500, ''), CUT, RESET]) t.match(none.after(failure), { type: 'fail' })
})

t.test('it waits as long as a provider asks, within reason', async t => {
  const limits = { requestMaxRetries: 1, streamMaxRetries: 1 }
  const after = (failure: ModelFailure) => planRetries(limits, () => 0.5).after(failure)
  t.match(after(http(429, '', { 'retry-after': '3' })), { type: 'retry', delayMs: 3000, notice: null })
  t.match(after(http(503, '', { 'retry-after': '0' })), { type: 'retry', delayMs: 200 })
  t.match(after({ ...failed('rate_limit_exceeded'), retryAfterMs: 1300 }), { type: 'retry', delayMs: 1300 })
  t.match(after(http(503, '', { 'retry-after': '3600' })), { type: 'fail' })
  const long = planRetries({ requestMaxRetries: 0, streamMaxRetries: 100 }, () => 1)
  const delays = Array.from({ length: 100 }, () => long.after(CUT)).map(next =>
    next.type === 'retry' ? next.delayMs : 0,
  )
  t.equal(Math.max(...delays), 30_000)
})

t.test('it says when a usage limit ends', async t => {
  const now = new Date(2030, 2, 17, 9, 0)
  const at = (date: Date) => Math.floor(date.getTime() / 1000)
  const text = (resets_at: unknown, plan_type?: string) => usageLimitText({ resets_at, plan_type }, now)
  t.equal(
    text(at(new Date(2030, 2, 18, 17, 46)), 'plus'),
    "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Mar 18th, 2030 5:46 PM.",
  )
  t.equal(text(at(new Date(2030, 2, 17, 0, 5))), "You've hit your usage limit. Try again at 12:05 AM.")
  t.equal(text(at(new Date(2031, 10, 11, 12, 0))), "You've hit your usage limit. Try again at Nov 11th, 2031 12:00 PM.")
  t.equal(text(at(new Date(2031, 10, 22, 1, 0))), "You've hit your usage limit. Try again at Nov 22nd, 2031 1:00 AM.")
  t.equal(text('soon'), "You've hit your usage limit. Try again later.")
  t.equal(text(1e300), "You've hit your usage limit. Try again later.")
})
