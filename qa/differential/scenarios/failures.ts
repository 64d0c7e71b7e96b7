import { digText } from '../../kit/dig.ts'
import type { Step } from '../../mock/step.ts'
import { command, NOBODY, type Scenario, type Setting, text } from '../scenario.ts'
import { item } from '../talker.ts'
import { begin } from './turns.ts'

/** Two turns on a model that fails in the first. */
function failing(name: string, about: string, script: readonly Step[], setting: Setting = {}): Scenario {
  return {
    name,
    about,
    script,
    setting,
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'go')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
      await stage.turn(client, threadId, 'and again')
      await client.quiet()
    },
  }
}

const LIMIT = { type: 'usage_limit_reached', message: 'limit', resets_at: 1_900_000_000, plan_type: 'plus' }
const BAD = { message: 'bad thing', type: 'invalid_request_error', code: 'bad' }
const RECOVERED: Step = { say: ['recovered'] }
const GATED: readonly Step[] = [{ say: ['one ', 'two'], gateAfter: 'g' }, { say: ['later'] }]

/** Failures of the model, retries, interrupts and steering. */
export const failures: readonly Scenario[] = [
  failing('fail-401', 'Unauthorised, twice.', [{ status: 401 }, { status: 401 }]),
  failing('fail-429', 'Too many requests.', [{ status: 429 }, { status: 429 }]),
  failing('fail-429-usage-limit', 'The usage limit.', [{ status: 429, body: { error: LIMIT } }, { say: ['ok'] }]),
  failing('fail-500', 'A server error, then success.', [{ status: 500 }, RECOVERED]),
  failing('fail-400', 'A bad request, then success.', [{ status: 400, body: { error: BAD } }, RECOVERED]),
  failing('fail-503-overloaded', 'An overloaded model.', [
    { status: 503, body: { error: { code: 'server_is_overloaded', message: 'busy' } } },
    RECOVERED,
  ]),
  failing('fail-stream-cut', 'The stream ends after a delta.', [{ sayThenCut: ['part '] }, RECOVERED]),
  failing('fail-context-overflow', 'The context is too long.', [
    { fail: { code: 'context_length_exceeded', message: 'too long' } },
    RECOVERED,
  ]),
  failing('fail-response-failed', 'A failure nobody knows.', [
    { fail: { code: 'server_error', message: 'model broke' } },
    RECOVERED,
  ]),
  failing('fail-quota', 'No quota left.', [{ fail: { code: 'insufficient_quota', message: 'pay' } }, RECOVERED]),
  failing(
    'retry-stream',
    'The stream is cut twice and tried again.',
    [{ sayThenCut: ['part '] }, { cut: true }, { say: ['good'] }, { say: ['next'] }],
    { streamRetries: 3 },
  ),
  failing(
    'retry-request',
    'The request fails twice and is tried again.',
    [{ status: 500 }, { status: 500 }, { say: ['good'] }, { say: ['next'] }],
    { requestRetries: 3 },
  ),
  failing(
    'retry-429',
    'Too many requests are not tried again.',
    [{ status: 429 }, { status: 429 }, { status: 429 }, { say: ['next'] }],
    { streamRetries: 2 },
  ),
  {
    name: 'interrupt-stream',
    about: 'Interrupting while text streams, first with a wrong id; then another turn.',
    script: GATED,
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go') })
      await client.until('item/agentMessage/delta')
      await client.ask('turn/interrupt', { threadId, turnId: NOBODY })
      await client.ask('turn/interrupt', { threadId, turnId: digText(started, 'result.turn.id') })
      await client.until('turn/completed')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
      await stage.turn(client, threadId, 'next')
      await client.quiet()
    },
  },
  {
    name: 'interrupt-twice',
    about: 'Interrupting a turn that was just interrupted; then another turn.',
    script: GATED,
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go') })
      const turnId = digText(started, 'result.turn.id')
      await client.until('item/agentMessage/delta')
      await client.ask('turn/interrupt', { threadId, turnId })
      await client.until('turn/completed')
      await client.quiet()
      try {
        await client.ask('turn/interrupt', { threadId, turnId }, { timeoutMs: 2500 })
      } catch {
        stage.event({ unanswered: 'turn/interrupt' })
      }
      await stage.turn(client, threadId, 'next')
      await client.quiet(500)
    },
  },
  {
    name: 'interrupt-idle',
    about: 'Interrupting an idle thread: with the id of a turn that is over, and with none.',
    script: [{ say: ['one'] }, { say: ['two'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const { turnId } = await stage.turn(client, threadId, 'go')
      await client.quiet()
      for (const id of [turnId, '']) {
        await client.ask('turn/interrupt', { threadId, turnId: id }, { timeoutMs: 1500 }).catch(() => null)
      }
      await stage.turn(client, threadId, 'next')
      await client.quiet(500)
    },
  },
  {
    name: 'interrupt-command',
    about: 'Interrupting while a command runs.',
    script: [command('echo begun; sleep 30', { yield_time_ms: 20_000 }), { say: ['later'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go') })
      await client.until(item('started', 'commandExecution'))
      await stage.sleep(1200)
      await client.ask('turn/interrupt', { threadId, turnId: digText(started, 'result.turn.id') })
      await client.until('turn/completed')
      await client.quiet(600)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'interrupt-approval',
    about: 'Interrupting while somebody is asked; the answer comes too late.',
    script: [command('touch x'), { say: ['later'] }],
    setting: { approval: 'untrusted', sandbox: 'workspace-write' },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go') })
      const request = await client.until('item/commandExecution/requestApproval')
      await client.ask('turn/interrupt', { threadId, turnId: digText(started, 'result.turn.id') })
      await client.until('turn/completed')
      await client.quiet()
      client.answer(request, { decision: 'accept' })
      await client.quiet()
    },
  },
  {
    name: 'turn-start-busy',
    about: 'A second turn is started while the first runs.',
    script: [{ say: ['one ', 'two'], gateAfter: 'g' }, { say: ['after'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.ask('turn/start', { threadId, input: text('first') })
      await client.until('item/agentMessage/delta')
      await client.ask('turn/start', { threadId, input: text('second') })
      await client.quiet(300)
      stage.model.release('g')
      await client.until('turn/completed')
      await client.quiet(500)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'steer',
    about: 'Steering a turn, and every way it is refused.',
    script: [{ say: ['one ', 'two'], gateAfter: 'g' }, { say: ['after steer'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const steer = (expectedTurnId: string, input: unknown, more: object = {}): Promise<unknown> =>
        client.ask('turn/steer', { threadId, expectedTurnId, input, ...more })
      await steer(NOBODY, text('x'))
      const started = await client.ask('turn/start', { threadId, input: text('first') })
      const turnId = digText(started, 'result.turn.id')
      await client.until('item/agentMessage/delta')
      await steer(NOBODY, text('x'))
      await steer('', text('x'))
      await steer(turnId, [])
      await steer(turnId, text('steered'), { clientUserMessageId: 'cu-1' })
      await client.quiet(300)
      stage.model.release('g')
      await client.until('turn/completed')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
]
