import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { concerns, type Difference, readDifferences } from '../../../qa/differential/differences.ts'
import type { Line } from '../../../qa/differential/recording.ts'
import { rewrite } from '../../../qa/differential/rewrite.ts'

const said = (msg: unknown, conn = 1): Line => ({ dir: 's2c', conn, msg })
const asked = (id: number, method: string, conn = 1): Line => ({ dir: 'c2s', conn, msg: { id, method } })
const note = (method: string, params: unknown): unknown => ({ method, params })

/** The messages that a golden becomes, and how many of the entries changed it. */
function become(lines: readonly Line[], ...entries: readonly Omit<Difference, 'scenario' | 'reason'>[]): unknown {
  const differences = entries.map(entry => ({ scenario: 'a', reason: 'because', ...entry }))
  const made = rewrite(lines, differences)
  return { used: made.used.size, messages: made.lines.filter(line => line.dir !== 'c2s').map(line => line.msg) }
}

t.test('it changes a value where the golden holds what the entry says', async t => {
  const lines = [said(note('warning', { text: 'old', by: 'x' })), said(note('warning', { text: 'else' }))]
  t.strictSame(become(lines, { method: 'warning', pointer: '/params/text', golden: 'o*', ours: 'new' }), {
    used: 1,
    messages: [note('warning', { text: 'new', by: 'x' }), note('warning', { text: 'else' })],
  })
  t.strictSame(become(lines, { method: 'warning', pointer: '/params/by', absent: true }), {
    used: 1,
    messages: [note('warning', { text: 'old' }), note('warning', { text: 'else' })],
  })
})

t.test('it knows an answer by its request and leaves its id', async t => {
  const lines = [
    asked(1, 'a/b'),
    asked(1, 'c/d', 2),
    said({ id: 1, result: { ok: true } }),
    said({ id: 1, result: 2 }, 2),
  ]
  const ours = { error: { code: -32601, message: 'Method not found: {method}' } }
  t.strictSame(become(lines, { method: 'c/d', ours }), {
    used: 1,
    messages: [
      { id: 1, result: { ok: true } },
      { id: 1, error: { code: -32601, message: 'Method not found: c/d' } },
    ],
  })
})

t.test('it counts the messages that fit, and finds those that say nothing new on their connection', async t => {
  const lines = [said(note('x', 1)), said(note('x', 1), 2), said(note('x', 1)), said(note('x', 2)), said(note('x', 1))]
  t.strictSame(become(lines, { method: 'x', nth: 3, absent: true }), {
    used: 1,
    messages: [note('x', 1), note('x', 1), note('x', 1), note('x', 1)],
  })
  t.strictSame(become(lines, { method: 'x', repeated: true, absent: true }), {
    used: 1,
    messages: [note('x', 1), note('x', 1), note('x', 2), note('x', 1)],
  })
})

t.test('it puts messages beside a message, and entries beside an entry of a list', async t => {
  const lines = [said(note('x', { list: ['a', 'c'] }))]
  t.strictSame(become(lines, { method: 'x', insert: 'before', ours: [note('y', 1), note('z', 2)] }), {
    used: 1,
    messages: [note('y', 1), note('z', 2), note('x', { list: ['a', 'c'] })],
  })
  const after = { method: 'x', pointer: '/params/list/*', golden: 'a', insert: 'after', ours: 'b' } as const
  const before = { method: 'x', pointer: '/params/list/0', insert: 'before', ours: '0' } as const
  t.strictSame(become(lines, after, before), { used: 2, messages: [note('x', { list: ['0', 'a', 'b', 'c'] })] })
})

t.test('it uses no entry whose place or value is not in the golden', async t => {
  const lines = [said(note('x', { list: ['a'], object: {} }))]
  const same = { used: 0, messages: [note('x', { list: ['a'], object: {} })] }
  t.strictSame(become(lines, { method: 'y', absent: true }), same)
  t.strictSame(become(lines, { method: 'x', nth: 1, absent: true }), same)
  t.strictSame(become(lines, { method: 'x', match: { params: { list: [] } }, absent: true }), same)
  t.strictSame(become(lines, { method: 'x', pointer: '/params/list/*', golden: 'b', insert: 'after', ours: 'c' }), same)
  t.strictSame(become(lines, { method: 'x', pointer: '/params/list/7', insert: 'after', ours: 'c' }), same)
  t.strictSame(become(lines, { method: 'x', pointer: '/params/object/a', insert: 'after', ours: 'c' }), same)
  t.strictSame(become(lines, { method: 'x', told: true }), same)
})

t.test('it gives a history as it was told', async t => {
  const item = (how: 'started' | 'completed', of: object): Line => said(note(`item/${how}`, { turnId: 't1', item: of }))
  const user = { type: 'userMessage', id: 'u1', content: [] }
  const command = { type: 'commandExecution', id: 'c1', aggregatedOutput: 'hi\n' }
  const part = { type: 'agentMessage', id: 'm1', text: 'part' }
  const thought = { type: 'reasoning', id: 'r1', summary: [], content: ['raw'] }
  const end = { type: 'agentMessage', id: 'm2', text: 'end' }
  const error = { message: 'no' }
  const live = [
    ...[user, thought, part].flatMap(each => [item('started', { ...each }), item('completed', each)]),
    item('started', { ...command, aggregatedOutput: null }),
    item('started', { ...end, text: '' }),
    item('completed', end),
    item('completed', command),
  ]
  const kept = [
    { ...user, id: 'item-1' },
    { ...thought, id: 'item-2', content: [] },
    { ...end, id: 'item-3' },
  ]
  const turn = { id: 't1', itemsView: 'full', items: kept, status: 'completed', error: null, startedAt: 1 }
  const over = said(
    note('turn/completed', { turn: { id: 't1', status: 'failed', error, items: [], itemsView: 'notLoaded' } }),
  )
  const read = (view: object): Line => said({ id: 1, result: { thread: { turns: [view, { id: 't0', items: [] }] } } })
  const answer = (lines: readonly Line[]): unknown =>
    rewrite([asked(1, 'thread/read'), ...lines], [{ scenario: 'a', reason: 'b', method: '*', told: true }]).lines.at(-1)
      ?.msg
  const whole = [user, thought, part, command, end]
  const told = (view: object): unknown => read(view).msg

  t.strictSame(answer([...live, over, read(turn)]), told({ ...turn, items: whole, status: 'failed', error }))
  t.strictSame(answer([...live, read(turn)]), told({ ...turn, items: whole }), 'a turn that runs has no end')
  t.strictSame(answer([...live.slice(0, 6), read(turn)]), told({ ...turn, items: [user, thought, part, kept[2]] }))
  const summary = { ...turn, itemsView: 'summary', items: [kept[0], kept[2]] }
  t.strictSame(answer([...live, read(summary)]), told({ ...summary, items: [user, end] }))
  const unloaded = { ...turn, itemsView: 'notLoaded', items: [] }
  t.strictSame(answer([...live, over, read(unloaded)]), told(unloaded))
})

t.test('it refuses a list with an entry that says nothing, too much, or not why', async t => {
  const path = join(t.testdir({}), 'list.json')
  const read = (entry: object) => (): readonly Difference[] => {
    writeFileSync(path, JSON.stringify([entry]))
    return readDifferences(path)
  }
  const good = { scenario: 'a', method: 'b', reason: 'c', absent: true }
  t.strictSame(read(good)(), [good])
  const { absent, ...silent } = good
  for (const bad of [silent, { ...good, any: absent }, { ...good, reason: '' }, { ...good, method: '' }]) {
    t.throws(read(bad), /^a difference needs/)
  }
})

t.test('it knows which scenarios an entry is about', async t => {
  const about = (scenario: Difference['scenario']): readonly string[] =>
    ['turn-text', 'turn-plan', 'config'].filter(name => concerns({ scenario, method: '*', reason: '-' }, name))
  t.strictSame(about('turn-*'), ['turn-text', 'turn-plan'])
  t.strictSame(about(['config', 'turn-plan']), ['turn-plan', 'config'])
})
