import t from 'tap'
import { checkCapability } from '../../src/codex/capability.ts'
import { invalidId, toConfigWriteError, toRpcError } from '../../src/codex/errors.ts'
import { project } from '../../src/codex/events.ts'
import { limitOf, offsetPage, pageOf } from '../../src/codex/pages.ts'
import { toSandbox, toTurn } from '../../src/codex/threads.ts'
import type { ApprovalAsk, Decision } from '../../src/engine/approvals.ts'
import { EngineError } from '../../src/engine/errors.ts'
import type { EngineEvent, TurnView } from '../../src/engine/events.ts'
import type { Announcement, Question } from '../../src/server/dialect.ts'

const calls = { callId: (id: string) => (id === 'A' ? 7 : undefined) }

function announced(event: EngineEvent): { readonly message: unknown; readonly announcement: Announcement } {
  const out = project(event, calls)
  if (out?.kind !== 'announcement') throw new Error('no announcement')
  return { message: JSON.parse(out.frame.bytes.toString()), announcement: out }
}

const at = { threadId: 'T', turnId: 'U', index: 0 }

t.test('it renames deltas and joins two of one stream', async t => {
  const delta = (text: string) =>
    ({ type: 'item.delta', ...at, itemId: 'I', part: { type: 'text' }, delta: text }) as const
  const { message, announcement } = announced(delta('one '))
  t.strictSame(message, {
    method: 'item/agentMessage/delta',
    params: { threadId: 'T', turnId: 'U', itemId: 'I', delta: 'one ' },
  })
  const { merge } = announcement.frame
  const next = announced(delta('two')).announcement.frame
  t.equal(merge?.key, next.merge?.key)
  t.match(JSON.parse(merge!.join(next).bytes.toString()), { params: { delta: 'one two' } })
  const summary = { type: 'item.delta', ...at, itemId: 'I', part: { type: 'summary', index: 1 } } as const
  t.match(announced({ ...summary, delta: '' }).message, {
    method: 'item/reasoning/summaryPartAdded',
    params: { summaryIndex: 1 },
  })
  t.match(announced({ ...summary, delta: 'x' }).message, {
    method: 'item/reasoning/summaryTextDelta',
    params: { delta: 'x', summaryIndex: 1 },
  })
})

t.test('it tells everyone of threads and only followers of turns', async t => {
  const status = announced({
    type: 'thread.status',
    threadId: 'T',
    status: { type: 'active', waitingOn: ['approval'] },
  })
  t.strictSame(status.message, {
    method: 'thread/status/changed',
    params: { threadId: 'T', status: { type: 'active', activeFlags: ['waitingOnApproval'] } },
  })
  t.equal(status.announcement.audience, 'everyone')
  const done = announced({ type: 'turn.completed', threadId: 'T', turn: turn('completed') })
  t.match(done.announcement, { audience: 'followers', terminal: { turnId: 'U' } })
})

const turn = (status: TurnView['status']): TurnView => ({
  id: 'U',
  status,
  error: null,
  startedAt: 1_999,
  completedAt: 3_001,
  durationMs: 1_002,
  items: [
    { type: 'userMessage', id: '1', clientId: null, content: [] },
    { type: 'agentMessage', id: '2', text: 'a', phase: 'commentary' },
    { type: 'agentMessage', id: '3', text: 'b', phase: 'finalAnswer' },
  ],
})

t.test('it gives whole seconds and the items that were asked for', async t => {
  const ids = (view: 'full' | 'summary' | 'notLoaded') => toTurn(turn('completed'), view).items.map(item => item.id)
  t.match(toTurn(turn('completed')), { startedAt: 1, completedAt: 3, durationMs: 1_002, itemsView: 'notLoaded' })
  t.strictSame(ids('full'), ['1', '2', '3'])
  t.strictSame(ids('summary'), ['1', '3'])
  t.strictSame(ids('notLoaded'), [])
})

const ask: ApprovalAsk = {
  type: 'command',
  turnId: 'U',
  itemId: 'I',
  startedAt: 5,
  command: "/bin/bash -lc 'touch x'",
  cwd: '/w',
  reason: null,
  actions: [],
  prefix: ['touch'],
}

function question(asked: ApprovalAsk): Question {
  const out = project({ type: 'approval.requested', threadId: 'T', approvalId: 'A', ask: asked }, calls)
  if (out?.kind !== 'question') throw new Error('no question')
  return out
}

t.test('it offers what counts, and counts only what it offered', async t => {
  const { method, params, decode } = question(ask)
  t.equal(method, 'item/commandExecution/requestApproval')
  t.match(params, {
    proposedExecpolicyAmendment: ['touch'],
    availableDecisions: [
      'accept',
      'acceptForSession',
      { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['touch'] } },
      'decline',
      'cancel',
    ],
  })
  const decline: Decision = { type: 'decline', message: null }
  const amend = (words: unknown) => ({ acceptWithExecpolicyAmendment: { execpolicy_amendment: words } })
  const cases: [unknown, Decision][] = [
    ['accept', { type: 'accept' }],
    ['acceptForSession', { type: 'acceptForSession' }],
    ['cancel', { type: 'cancel' }],
    ['decline', decline],
    [amend(['touch']), { type: 'acceptPrefix', prefix: ['touch'] }],
    [amend(['bash']), decline],
    [amend([]), decline],
    [amend('touch'), decline],
    ['Accept', decline],
    [true, decline],
    [null, decline],
  ]
  for (const [decision, meaning] of cases)
    t.strictSame(decode({ kind: 'result', id: '7', result: { decision } }), meaning)
  t.strictSame(decode({ kind: 'result', id: '7', result: 'accept' }), decline)
  t.strictSame(decode({ kind: 'failure', id: '7', error: { code: 1, message: 'no' } }), decline)
  const bare = question({ ...ask, prefix: null })
  t.notOk(JSON.stringify(bare.params).includes('xecpolicy'))
  t.strictSame(bare.decode({ kind: 'result', id: '7', result: { decision: amend(['touch']) } }), decline)
})

t.test('it says when a question is settled, but not of tools the client runs', async t => {
  const resolved = { type: 'approval.resolved', threadId: 'T', approvalId: 'A' } as const
  t.strictSame(announced({ ...resolved, kind: 'command' }).message, {
    method: 'serverRequest/resolved',
    params: { threadId: 'T', requestId: 7 },
  })
  t.equal(project({ ...resolved, kind: 'clientTool' }, calls), undefined)
  t.equal(project({ ...resolved, approvalId: 'B', kind: 'command' }, calls), undefined, 'nobody was ever asked')
})

t.test('it gates what needs the capability, in order, as codex counts use', async t => {
  const needs = (what: string) => ({ code: -32600, message: `${what} requires experimentalApi capability` })
  t.throws(() => checkCapability('m', true, {}), needs('m'))
  t.throws(() => checkCapability('m', ['a', 'b'], { b: [], a: '' }), needs('m.a'))
  t.throws(() => checkCapability('m', ['a'], { a: {} }), needs('m.a'))
  t.doesNotThrow(() => checkCapability('m', ['a', 'b', 'c'], { a: null, b: false }))
  t.throws(() => checkCapability('m', [], { approvalPolicy: { granular: {} } }), needs('askForApproval.granular'))
})

t.test('it has codex numbers and words for refusals', async t => {
  t.match(toRpcError(new EngineError('threadNotFound', 'thread not found: x', { threadId: 'x' })), {
    code: -32600,
    message: 'thread not found: x',
    data: undefined,
  })
  t.match(toRpcError(new EngineError('inputTooLarge', 'long', { max_chars: 1 })), {
    code: -32602,
    data: { max_chars: 1 },
  })
  t.match(toRpcError(new Error('boom')), { code: -32603, message: 'boom' })
  t.equal(
    invalidId('not-a-uuid', 'thread'),
    'invalid thread id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1',
  )
})

t.test('it pages by entry and by offset, and refuses cursors it never gave', async t => {
  const entries = ['a', 'b', 'c']
  const page = (cursor: string | null, descending = true) =>
    pageOf(entries, e => e, 'turnId', { cursor, limit: 2, descending })
  t.strictSame(page(null), {
    data: ['c', 'b'],
    next: '{"turnId":"b","includeAnchor":false}',
    back: '{"turnId":"c","includeAnchor":true}',
  })
  t.strictSame(page('{"turnId":"b","includeAnchor":false}').data, ['a'])
  t.strictSame(page('{"turnId":"b","includeAnchor":true}', false).data, ['b', 'c'])
  for (const bad of ['garbage', '{}', '{"turnId":"z"}', '{"turnId":5}']) {
    t.throws(() => page(bad), { message: `invalid cursor: ${bad}` })
  }
  t.strictSame(offsetPage(entries, { cursor: null, limit: 1 }, 'models'), { data: ['a'], next: '1' })
  t.strictSame(offsetPage(entries, { cursor: '3', limit: 1 }, 'models'), { data: [], next: null })
  t.throws(() => offsetPage(entries, { cursor: 'zzz', limit: 1 }, 'models'), { message: 'invalid cursor: zzz' })
  t.throws(() => offsetPage(entries, { cursor: '9', limit: 1 }, 'models'), {
    message: 'cursor 9 exceeds total models 3',
  })
  t.strictSame(
    [0, null, undefined, 5, -3, 1e9].map(n => limitOf(n, 25)),
    [1, 25, 25, 5, 1, 10_000],
  )
})

t.test('it shows each sandbox', async t => {
  t.strictSame(toSandbox({ type: 'readOnly', networkAccess: false }), { type: 'readOnly', networkAccess: false })
})

t.test('it says by code why a configuration was not written', async t => {
  const seen = (error: unknown): unknown => {
    const { code, message, data } = toConfigWriteError(error)
    return { code, message, data }
  }
  const refusal = (code: string): object => ({ code: -32600, message: 'no', data: { config_write_error_code: code } })
  const conflict = new EngineError('configConflict', 'no', { version: 'sha256:1' })
  t.strictSame(seen(conflict), refusal('configVersionConflict'))
  t.strictSame(seen(new EngineError('configInvalid', 'no')), refusal('configValidationError'))
  t.strictSame(seen(new EngineError('configReadonly', 'no')), refusal('configLayerReadonly'))
  t.strictSame(seen(new EngineError('storage', 'full')), { code: -32603, message: 'full', data: undefined })
  t.strictSame(seen(new Error('boom')), { code: -32603, message: 'boom', data: undefined })
})

t.test('it shows the detail of an image, null where none was given', async t => {
  const content = [
    { type: 'image', url: 'data:,', detail: 'high' },
    { type: 'localImage', path: '/a.png' },
  ] as const
  const item = { type: 'userMessage', id: 'I', clientId: null, content } as const
  t.match(announced({ type: 'item.started', ...at, item, at: 1 }).message, {
    params: {
      item: {
        content: [
          { type: 'image', url: 'data:,', detail: 'high' },
          { type: 'localImage', path: '/a.png', detail: null },
        ],
      },
    },
  })
})
