import t from 'tap'
import { Calls, countUp } from '../../src/rpc/calls.ts'
import type { Frame } from '../../src/rpc/frame.ts'
import { Lanes } from '../../src/rpc/lanes.ts'

interface Peer {
  readonly name: string
  readonly got: string[]
  post(frame: Frame): void
}

function peer(name: string): Peer {
  const got: string[] = []
  return { name, got, post: frame => void got.push(frame.bytes.toString().trimEnd()) }
}

function setUp() {
  const calls = new Calls<Peer>(countUp())
  const settled: unknown[] = []
  const ask = (peers: readonly Peer[], method = 'ask') => {
    const settle = (reply: unknown, by: Peer): void => void settled.push([method, reply, by.name])
    return calls.ask({ method, params: { q: 1 }, peers, settled: settle })
  }
  return { calls, settled, ask }
}

const yes = (id: string) => ({ kind: 'result', id, result: 'yes' }) as const

t.test('calls', t => {
  t.test('it asks everybody with one id and takes the first answer', async t => {
    const { calls, settled, ask } = setUp()
    const [a, b] = [peer('a'), peer('b')]
    const { id, frame } = ask([a, b])
    t.equal(id, 0)
    t.strictSame([a.got, b.got], Array(2).fill(['{"method":"ask","id":0,"params":{"q":1}}']))
    t.equal(frame.bytes.toString().trimEnd(), a.got[0])
    t.equal(calls.reply(b, yes('0')), true)
    t.equal(calls.reply(a, yes('0')), false, 'late')
    t.equal(calls.reply(b, yes('0')), false, 'twice')
    t.strictSame(settled, [['ask', yes('0'), 'b']])
    t.equal(calls.size, 0)
  })

  t.test('it takes an error for an answer', async t => {
    const { calls, settled, ask } = setUp()
    const a = peer('a')
    ask([a])
    const failure = { kind: 'failure', id: '0', error: { code: -32601 } } as const
    t.equal(calls.reply(a, failure), true)
    t.strictSame(settled, [['ask', failure, 'a']])
  })

  t.test('it hears nobody it did not ask, and no id that is not exactly ours', async t => {
    const { calls, settled, ask } = setUp()
    const [a, stranger] = [peer('a'), peer('x')]
    ask([a])
    t.equal(calls.reply(stranger, yes('0')), false)
    for (const id of ['1', '"0"', '-0', 'null', '0.0', '']) t.equal(calls.reply(a, yes(id)), false, id)
    t.strictSame([settled, calls.size], [[], 1])
  })

  t.test('it gives every request a new id, also when others are settled or cancelled', async t => {
    const nextId = countUp()
    const [one, two] = [new Calls<Peer>(nextId), new Calls<Peer>(nextId)]
    const a = peer('a')
    const ids = [one, two, one].map(calls => {
      const { id } = calls.ask({ method: 'm', params: {}, peers: [a], settled: () => {} })
      calls.cancel(id)
      return id
    })
    t.strictSame(ids, [0, 1, 2])
  })

  t.test('it sends an open request again, and then hears that peer too', async t => {
    const { calls, settled, ask } = setUp()
    const late = peer('late')
    const { id } = ask([])
    t.equal(calls.reply(late, yes('0')), false)
    t.equal(calls.resend(id, late), true)
    t.strictSame(late.got, ['{"method":"ask","id":0,"params":{"q":1}}'])
    t.equal(calls.reply(late, yes('0')), true)
    t.equal(calls.resend(id, late), false, 'it is settled')
    t.equal(settled.length, 1)
  })

  t.test('it hears no answer to a cancelled request', async t => {
    const { calls, settled, ask } = setUp()
    const a = peer('a')
    const { id } = ask([a])
    t.equal(calls.cancel(id), true)
    t.equal(calls.cancel(id), false)
    t.equal(calls.reply(a, yes('0')), false)
    t.strictSame(settled, [])
  })

  t.test('it says which requests nobody is left to answer when a peer goes', async t => {
    const { calls, ask } = setUp()
    const [a, b] = [peer('a'), peer('b')]
    ask([a])
    ask([a, b])
    ask([b])
    ask([])
    t.strictSame(calls.drop(a), [0])
    t.strictSame(calls.drop(a), [], 'once')
    t.equal(calls.reply(a, yes('1')), false, 'a peer that has gone is not heard')
    t.strictSame(calls.drop(b), [1, 2])
    t.equal(calls.size, 4, 'they stay open')
  })

  t.test('it lets an answer start the next request', async t => {
    const calls = new Calls<Peer>(countUp())
    const a = peer('a')
    const again = (): void => void calls.ask({ method: 'two', params: {}, peers: [a], settled: () => {} })
    calls.ask({ method: 'one', params: {}, peers: [a], settled: again })
    calls.reply(a, yes('0'))
    t.strictSame(
      a.got.map(text => JSON.parse(text).id),
      [0, 1],
    )
  })
  t.end()
})

t.test('lanes', t => {
  t.test('it keeps one lane in order and the others free', async t => {
    const lanes = new Lanes()
    const log: string[] = []
    const gates: (() => void)[] = []
    const task = (name: string) => async () => {
      log.push(`${name} starts`)
      await new Promise<void>(resolve => gates.push(resolve))
      log.push(`${name} ends`)
      return name
    }
    const all = [
      lanes.run('x', task('x1')),
      lanes.run('x', task('x2')),
      lanes.run('y', task('y1')),
      lanes.run(null, task('n')),
    ]
    t.strictSame(log, ['x1 starts', 'y1 starts', 'n starts'], 'at once where the lane is free')
    t.equal(lanes.busy, 2)
    while (gates.length > 0) {
      gates.shift()?.()
      await new Promise(setImmediate)
    }
    t.strictSame(await Promise.all(all), ['x1', 'x2', 'y1', 'n'])
    t.strictSame(
      log.filter(line => line.startsWith('x')),
      ['x1 starts', 'x1 ends', 'x2 starts', 'x2 ends'],
    )
    t.equal(lanes.busy, 0, 'an empty lane is forgotten')
  })

  t.test('it goes on after a task that throws', async t => {
    const lanes = new Lanes()
    const boom = (): never => {
      throw new Error('boom')
    }
    const results = [
      lanes.run('x', boom),
      lanes.run('x', async () => boom()),
      lanes.run('x', () => 3),
      lanes.run(null, boom),
    ]
    t.match(await Promise.allSettled(results), [
      { status: 'rejected', reason: { message: 'boom' } },
      { status: 'rejected', reason: { message: 'boom' } },
      { status: 'fulfilled', value: 3 },
      { status: 'rejected', reason: { message: 'boom' } },
    ])
    t.equal(lanes.busy, 0)
  })

  t.test('it takes tasks that a task brings', async t => {
    const lanes = new Lanes()
    const log: string[] = []
    const inner: Promise<unknown>[] = []
    await lanes.run('x', () => {
      inner.push(lanes.run('x', () => void log.push('inner')))
      log.push('outer')
    })
    await Promise.all(inner)
    t.strictSame(log, ['outer', 'inner'])
    t.equal(await lanes.run('__proto__', () => 1), 1)
  })

  t.test('it keeps ten thousand in order', async t => {
    const lanes = new Lanes()
    const log: number[] = []
    const numbers = Array.from({ length: 10_000 }, (_, n) => n)
    await Promise.all(numbers.map(n => lanes.run('x', async () => void log.push(n))))
    t.strictSame(log, numbers)
  })
  t.end()
})
