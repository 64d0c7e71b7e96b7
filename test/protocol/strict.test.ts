import t from 'tap'
import { createStrict } from '../../qa/conformance/strict.ts'
import type { ServerNotifications } from '../../src/protocol/codex/methods.gen.ts'
import type { ThreadArchiveResponse, TurnStartResponse } from '../../src/protocol/codex/types.gen.ts'

const older = createStrict('0.142.5')
const newer = createStrict('0.171.0')

/** Typed as what we send, so that a good frame compiles and passes both pins. */
const completed: ServerNotifications['turn/completed'] = {
  threadId: 'thread',
  turn: {
    id: 'turn',
    items: [],
    itemsView: 'notLoaded',
    status: 'failed',
    error: { message: 'no', codexErrorInfo: 'other', additionalDetails: null, misalignment: null },
    startedAt: 1_767_225_600,
    completedAt: 1_767_225_601,
    durationMs: 1000,
    rootTurnId: null,
  },
}

function notification(method: string, params: unknown) {
  return { method, params }
}

t.test('it passes a good notification', async t => {
  const frame = notification('turn/completed', completed)
  t.same(older.check(frame), [])
  t.same(newer.check(frame), [])
  t.same(older.check({ ...frame, emittedAtMs: 5, params: { ...completed, more: true } }), [], 'with keys of its own')
})

t.test('it reports what a client could not read', async t => {
  const turn = (change: object) =>
    notification('turn/completed', { ...completed, turn: { ...completed.turn, ...change } })
  t.same(older.check(turn({ startedAt: 1.5 })), ['turn/completed: params/turn/startedAt must be integer,null'])
  t.same(newer.check(turn({ startedAt: 1.5 })), ['turn/completed: params/turn/startedAt must be integer,null'])
  t.same(older.check(turn({ durationMs: 2 ** 63 })), [
    'turn/completed: params/turn/durationMs must match format "int64"',
  ])
  t.same(older.check(turn({ status: 'done' })), [
    'turn/completed: params/turn/status must be equal to one of the allowed values: completed, interrupted, failed, inProgress',
  ])
  t.same(older.check(notification('turn/completed', undefined)), ['turn/completed: params must be object'])
})

t.test('it reports a null that is left out', async t => {
  const { error: _, ...turn } = completed.turn
  const frame = notification('turn/completed', { ...completed, turn })
  t.same(older.check(frame), ["turn/completed: params/turn must have required property 'error'"])
  const { rootTurnId: __, ...bare } = completed.turn
  t.same(older.check(notification('turn/completed', { ...completed, turn: bare })), [])
  const item = { type: 'agentMessage', id: 'i', text: 'hi', phase: null, memoryCitation: null }
  const started = notification('item/started', { threadId: 't', turnId: 'u', startedAtMs: 1, item })
  t.same(older.check(started), [])
  t.same(newer.check(started), [
    "item/started: params/item must have required property 'moderation'",
    "item/started: params/item must have required property 'delivery'",
    "item/started: params/item must have required property 'questions'",
  ])
})

t.test('it reports a member that only the newer pin has to the older one only', async t => {
  const error = { ...completed.turn.error, codexErrorInfo: 'rateLimitExceeded' }
  const frame = notification('error', { threadId: 't', turnId: 'u', willRetry: false, error })
  t.not(older.check(frame).length, 0)
  t.same(newer.check(frame), [])
  const item = { type: 'functionCallOutput', id: 'i', name: 'n', namespace: null, output: 'o' }
  const started = notification('item/started', { threadId: 't', turnId: 'u', startedAtMs: 1, item })
  t.same(older.check(started), ['item/started: params/item value of tag "type" must be in oneOf'])
  t.same(newer.check(started), [])
})

t.test('it checks a response by the method it answers', async t => {
  const result: TurnStartResponse = { turn: { ...completed.turn, status: 'inProgress', error: null } }
  const archived: ThreadArchiveResponse = {}
  t.same(older.check({ id: 1, result }, { requestMethod: 'turn/start' }), [])
  t.same(older.check({ id: 'a', result: archived }, { requestMethod: 'thread/archive' }), [])
  t.same(older.check({ id: 1, result: {} }, { requestMethod: 'turn/start' }), [
    "turn/start: result must have required property 'turn'",
  ])
  t.same(older.check({ id: 1.5, result: {} }).length > 0, true, 'an id is a string or an integer')
  const relative = { status: 'ok', version: 'v', filePath: 'config.toml', overriddenMetadata: null }
  t.same(older.check({ id: 1, result: relative }, { requestMethod: 'config/value/write' }), [
    'config/value/write: result/filePath must match pattern "^/"',
  ])
})

t.test('it lets pass what the pin does not have', async t => {
  t.same(older.check(notification('thread/reverted', 5)), [])
  t.not(newer.check(notification('thread/reverted', 5)).length, 0)
  t.same(older.check({ id: 1, result: 5 }, { requestMethod: 'thread/revert' }), [])
  t.same(newer.check({ id: 1, method: 'currentTime/read', params: 5 }), [])
  t.same(older.check(notification('constructor', 5)), [])
})

t.test('it checks a notification that the lists of methods leave out', async t => {
  const raw = { threadId: 't', turnId: 'u', item: { type: 'message', role: 'user', content: [] } }
  t.same(older.check(notification('rawResponseItem/completed', raw)), [])
  t.same(older.check(notification('rawResponseItem/completed', { ...raw, turnId: 5 })), [
    'rawResponseItem/completed: params/turnId must be string',
  ])
})

t.test('it checks server requests and errors', async t => {
  const ask = {
    id: 0,
    method: 'item/tool/call',
    params: { threadId: 't', turnId: 'u', callId: 'c', tool: 'x', arguments: {} },
  }
  t.same(older.check(ask), ["item/tool/call: params must have required property 'namespace'"])
  t.same(older.check({ ...ask, params: { ...ask.params, namespace: null } }), [])
  t.same(older.check({ error: { code: -32600, message: 'no' }, id: 5 }), [])
  t.same(older.check({ error: { code: -32700, message: 'no' }, id: null }), [])
  t.same(older.check({ error: { code: 'x', message: 'no' }, id: 1 }), ['error response/error/code must be integer'])
  t.same(older.check({ error: { code: 1, message: 'no' } }), ["error response must have required property 'id'"])
  t.same(older.check({ id: 1, result: {}, error: { code: 1, message: 'no' } }), [
    'a response has a result or an error, not both',
  ])
  t.same(older.check({ id: 1 }), ['a frame has a method, a result or an error'])
  t.same(older.check([]), ['a frame is an object'])
  t.same(older.check({ method: 5 }), ['method is a string'])
})
