import t from 'tap'
import { compare } from '../../qa/differential/compare.ts'
import { createNormaliser } from '../../qa/differential/normalise.ts'
import { trimToPin } from '../../qa/differential/pin.ts'
import type { Line } from '../../qa/differential/recording.ts'
import { Renaming } from '../../qa/differential/unify.ts'

const A = '01a22d8c-2b72-7d53-8e2e-3d4eb454e043'
const B = '01a22d8c-3657-7fd1-b49c-a3f8c646268a'

t.test('a normaliser', t => {
  t.test('it names ids by kind and first sight, and keeps the name', async t => {
    const clean = createNormaliser([])
    t.strictSame(clean({ result: { thread: { id: A, sessionId: A } } }), {
      result: { thread: { id: '<THREAD_1>', sessionId: '<THREAD_1>' } },
    })
    t.strictSame(clean({ params: { turnId: B, path: `rollout-2026-11-30T18-20-35-${A}.jsonl`, text: `see ${B}` } }), {
      params: { turnId: '<TURN_1>', path: 'rollout-<STAMP>-<THREAD_1>.jsonl', text: 'see <TURN_1>' },
    })
    t.strictSame(clean({ turnId: '00000000-0000-7000-8000-000000000000' }), {
      turnId: '00000000-0000-7000-8000-000000000000',
    })
  })

  t.test('it replaces moments, durations, folders and machines, the longest text first', async t => {
    const clean = createNormaliser([
      ['/tmp/x', '<DIR>'],
      ['/tmp/x/cwd', '<CWD>'],
    ])
    t.strictSame(
      clean({
        createdAt: 1_796_060_490,
        durationMs: 12,
        cwd: '/tmp/x/cwd/a',
        dir: '/tmp/x/b',
        userAgent: 'golden/0.142.5 (Debian 12.0.0; x86_64) xterm (golden; 0.0.1)',
        cursor: `2026-11-30T18:20:35.051Z|${A}`,
        '/tmp/x/cwd': null,
      }),
      {
        createdAt: '<TIME>',
        durationMs: '<MS>',
        cwd: '<CWD>/a',
        dir: '<DIR>/b',
        userAgent: 'golden/0.142.5 (<OS>; <ARCH>) <TERM> (golden; 0.0.1)',
        cursor: '<TIME>|<UUID_1>',
        '<CWD>': null,
      },
    )
  })
  t.end()
})

t.test('a renaming', t => {
  t.test('it lets numbers of placeholders shift as long as they shift everywhere', async t => {
    const renaming = new Renaming()
    t.equal(renaming.unify({ a: '<TURN_1>', b: 'x <UUID_1> y' }, { a: '<TURN_2>', b: 'x <UUID_3> y' }), null)
    t.equal(renaming.unify('<TURN_1>', '<TURN_2>'), null)
    t.strictSame(renaming.unify({ a: ['<TURN_1>'] }, { a: ['<TURN_3>'] }), {
      at: '/a/0',
      golden: '<TURN_1>',
      ours: '<TURN_3>',
    })
    t.ok(renaming.unify('<TURN_4>', '<TURN_2>'), 'two of theirs cannot be one of ours')
  })

  t.test('it takes values that are no numbered placeholders as they are', async t => {
    const renaming = new Renaming()
    t.ok(renaming.unify('<TIME>', '<MS>'))
    t.ok(renaming.unify('<TURN_1>', 'literal'))
    t.ok(renaming.unify({ a: 1 }, { a: 1, b: 2 }))
    t.ok(renaming.unify([1], [1, 2]))
    t.equal(renaming.unify('<ANY>', { whatever: true }), null)
  })

  t.test('an id that a difference frees may be one that has a name already', async t => {
    const renaming = new Renaming()
    t.equal(renaming.unify('<ITEM_1>', '<ITEM_1>'), null)
    t.equal(renaming.unify('<ID:item-1>', '<ITEM_1>'), null)
    t.ok(renaming.unify('<ID:item-2>', '<ITEM_1>'), 'but no two of theirs may be one')
    t.ok(renaming.unify('<ID:item-1>', '<ITEM_2>'), 'and it stays what it was')
  })
  t.end()
})

t.test('trimming to the pin', async t => {
  t.strictSame(
    trimToPin({
      thread: {
        sessionId: 's',
        preview: '',
        projectId: null,
        turns: [{ itemsView: 'full', durationMs: 1, rootTurnId: 'r' }],
      },
      approvalPolicy: 'never',
      disabledPluginIds: [],
    }),
    { thread: { sessionId: 's', preview: '', turns: [{ itemsView: 'full', durationMs: 1 }] }, approvalPolicy: 'never' },
    'it drops what only the newer pin has',
  )
  t.strictSame(trimToPin({ projectId: 1, rootTurnId: 2 }), { projectId: 1, rootTurnId: 2 }, 'and nothing elsewhere')
})

t.test('comparing', t => {
  const asks = (conn: number, id: number, method: string): Line => ({ dir: 'c2s', conn, msg: { id, method } })
  const says = (conn: number, msg: object): Line => ({ dir: 's2c', conn, msg })
  const ended = (id: string): object => ({
    method: 'item/completed',
    params: { item: { type: 'commandExecution', id } },
  })
  const golden = [
    asks(1, 1, 'a'),
    asks(1, 2, 'b'),
    says(1, { id: 1, result: 1 }),
    says(1, { method: 'turn/started' }),
    says(1, { id: 2, result: 2 }),
    says(1, ended('x')),
    says(1, { method: 'turn/completed' }),
    says(2, { method: 'turn/completed' }),
  ]

  t.test('it allows what the real server leaves to chance', async t => {
    const ours = [
      asks(1, 1, 'a'),
      asks(1, 2, 'b'),
      says(2, { method: 'turn/completed' }),
      says(1, { id: 2, result: 2 }),
      says(1, { id: 1, result: 1 }),
      says(1, { method: 'account/rateLimits/updated' }),
      says(1, { method: 'turn/started' }),
      says(1, { method: 'turn/completed' }),
      says(1, ended('x')),
    ]
    t.strictSame(compare(golden, ours, new Set()), [])
  })

  t.test('it finds another answer, a missing end, a changed order and what nobody expected', async t => {
    const without = (index: number): Line[] => golden.filter((_, at) => at !== index)
    const streams = (ours: readonly Line[]): string[] => compare(golden, ours, new Set()).map(({ stream }) => stream)
    const changed = golden.map((line, at) => (at === 2 ? says(1, { id: 1, result: 9 }) : line))
    t.strictSame(streams(changed), ['connection 1, answer to a (id 1)'])
    t.strictSame(streams(without(6)), ['connection 1, stream'])
    t.strictSame(streams(without(5)), ['connection 1, at no fixed place'])
    t.strictSame(streams([...without(3), golden[3]!]), ['connection 1, stream'])
    t.strictSame(streams([...golden, says(3, { method: 'x' })]), ['connection 3, stream'])
    t.strictSame(compare(golden, [...golden, says(3, { method: 'x' })], new Set(['x'])), [])
  })

  t.test('it gives the place, both values and the message', async t => {
    const ours = golden.map((line, at) => (at === 2 ? says(1, { id: 1, result: 9 }) : line))
    t.strictSame(compare(golden, ours, new Set()), [
      {
        stream: 'connection 1, answer to a (id 1)',
        index: 0,
        message: { id: 1, result: 1 },
        at: '/result',
        golden: 1,
        ours: 9,
      },
    ])
  })
  t.end()
})
