import t from 'tap'
import { Frame } from '../../src/rpc/frame.ts'
import { notificationFrame, requestFrame, responseFrame } from '../../src/rpc/message.ts'
import { Outbox } from '../../src/rpc/outbox.ts'
import { FakeChannel, FakeTimers } from './fake-channel.ts'

const MIB = 1024 * 1024

function setUp() {
  const channel = new FakeChannel()
  const timers = new FakeTimers()
  const flushes: (() => void)[] = []
  const reports: unknown[] = []
  const outbox = new Outbox(channel, {
    after: timers.after,
    defer: flush => flushes.push(flush),
    report: (error, method) => reports.push([String(error), method]),
  })
  const tick = (): void => flushes.splice(0).forEach(flush => void flush())
  return { channel, timers, outbox, tick, reports }
}

/** A text delta of one item, which joins with the next of the same item. */
function delta(item: string, text: string): Frame {
  return new Frame(() => JSON.stringify({ item, text }), 'delta', {
    key: item,
    join: next => delta(item, text + JSON.parse(next.bytes.toString()).text),
  })
}

const note = (name: string): Frame => notificationFrame(name)
const sent = (name: string): string => `send {"method":"${name}"}`
const bulk = (bytes: number): Frame => notificationFrame('bulk', 'x'.repeat(bytes - 30))
/** One frame of exactly 1 MiB, posted often. */
const big = bulk(MIB)

t.test('it writes the frames of one tick at once', async t => {
  const { channel, outbox, tick } = setUp()
  outbox.post(note('a'))
  outbox.post(note('b'))
  t.strictSame(channel.take(), ['cork', sent('a'), sent('b')])
  tick()
  t.strictSame(channel.take(), ['uncork'])
  outbox.post(note('c'))
  tick()
  t.strictSame(channel.take(), ['cork', sent('c'), 'uncork'])
})

t.test('it flushes by itself when nobody says how', async t => {
  const channel = new FakeChannel()
  new Outbox(channel).post(note('a'))
  await new Promise(setImmediate)
  t.strictSame(channel.take(), ['cork', sent('a'), 'uncork'])
})

t.test('it leaves out notifications that are opted out of, and nothing else', async t => {
  const { channel, outbox } = setUp()
  outbox.optOut = new Set(['a', 'ask'])
  outbox.post(note('a'))
  outbox.post(note('b'))
  outbox.post(requestFrame(1, 'ask', {}))
  outbox.post(responseFrame('1', 'a'))
  t.strictSame(channel.take(), [
    'cork',
    sent('b'),
    'send {"method":"ask","id":1,"params":{}}',
    'send {"id":1,"result":"a"}',
  ])
})

t.test('it keeps frames back above 1 MiB and sends them in order when there is room', async t => {
  const { channel, outbox, tick } = setUp()
  channel.buffered = MIB + 1
  for (const name of ['a', 'b']) outbox.post(note(name))
  outbox.post(responseFrame('1', {}))
  channel.buffered = 0
  outbox.post(note('c'))
  t.strictSame(channel.take(), [], 'not even with room again, while others wait')
  outbox.drain()
  tick()
  t.strictSame(channel.take(), ['cork', sent('a'), sent('b'), 'send {"id":1,"result":{}}', sent('c'), 'uncork'])
  outbox.post(note('d'))
  t.strictSame(channel.take(), ['cork', sent('d')])
})

t.test('it hands over no more than 1 MiB and one frame at a drain', async t => {
  const { channel, outbox } = setUp()
  channel.stuck = true
  for (let n = 0; n < 10; n++) outbox.post(bulk(MIB / 2))
  t.equal(channel.take().length, 4, 'cork and three frames')
  for (let drains = 0; drains < 2; drains++) {
    channel.buffered = 0
    outbox.drain()
    t.equal(channel.take().filter(line => line.startsWith('send')).length, 3)
  }
})

t.test('it joins adjacent frames of one key, and only those', async t => {
  const { channel, outbox } = setUp()
  channel.buffered = MIB + 1
  for (const frame of [
    delta('a', '1'),
    delta('a', '2'),
    delta('b', '3'),
    delta('a', '4'),
    note('n'),
    delta('a', '5'),
  ]) {
    outbox.post(frame)
  }
  outbox.post(delta('a', '6'))
  outbox.post(new Frame(() => '"no merge"', 'delta'))
  channel.buffered = 0
  outbox.drain()
  t.strictSame(channel.take().slice(1), [
    'send {"item":"a","text":"12"}',
    'send {"item":"b","text":"3"}',
    'send {"item":"a","text":"4"}',
    sent('n'),
    'send {"item":"a","text":"56"}',
    'send "no merge"',
  ])
  channel.buffered = MIB + 1
  outbox.post(delta('a', '7'))
  outbox.post(delta('a', '8'))
  t.strictSame(channel.take(), [], 'what was sent is never joined with')
})

t.test('it loses no text of many deltas, and cuts them into frames of bounded size', async t => {
  const { channel, outbox } = setUp()
  channel.buffered = MIB + 1
  let text = ''
  for (let n = 0; n < 60_000; n++) {
    text += `${n},`
    outbox.post(delta('a', `${n},`))
  }
  channel.buffered = 0
  outbox.drain()
  const frames = channel.take().slice(1)
  t.equal(frames.map(line => JSON.parse(line.slice(5)).text).join(''), text)
  t.ok(frames.length < 10 && frames.every(line => line.length < 300_000), `${frames.length} frames`)
})

t.test('it closes a peer that stays more than 64 MiB behind for ten seconds', async t => {
  const { channel, outbox, timers } = setUp()
  channel.buffered = MIB + 1
  for (let n = 0; n < 64; n++) outbox.post(big)
  t.strictSame(timers.pending, [], 'exactly 64 MiB is allowed')
  outbox.post(big)
  outbox.post(big)
  t.strictSame(
    timers.pending.map(({ ms }) => ms),
    [10_000],
    'one timer',
  )
  t.strictSame(channel.take(), [])
  timers.fire()
  t.strictSame(channel.take(), ['close 1013 slow'])
  outbox.post(note('a'))
  outbox.drain()
  t.strictSame(channel.take(), [], 'and then is silent')
})

t.test('it spares a peer that has caught up by then', async t => {
  const { channel, outbox, timers } = setUp()
  channel.buffered = MIB + 1
  for (let n = 0; n < 66; n++) outbox.post(big)
  channel.buffered = 0
  channel.stuck = true
  outbox.drain()
  channel.buffered = 0
  outbox.drain()
  t.strictSame(timers.pending, [], 'the timer is stopped')
  t.notMatch(channel.take().join(), /close/)
})

t.test('it does not wait where the memory would not last', async t => {
  const { channel, outbox, timers } = setUp()
  channel.buffered = MIB + 1
  for (let n = 0; n < 129; n++) outbox.post(big)
  t.strictSame(channel.take(), ['close 1013 slow'])
  t.strictSame(timers.pending, [])
})

t.test('it never closes for responses or requests, but is busy', async t => {
  const { channel, outbox, timers } = setUp()
  channel.buffered = MIB + 1
  t.equal(outbox.busy, false)
  const response = responseFrame('1', 'x'.repeat(MIB))
  for (let n = 0; n < 130; n++) outbox.post(response)
  t.equal(outbox.busy, true)
  outbox.post(note('a'))
  const request = requestFrame(1, 'ask', 'x'.repeat(MIB))
  for (let n = 0; n < 70; n++) outbox.post(request)
  t.strictSame([timers.pending, channel.take()], [[], []])
  channel.buffered = 0
  outbox.drain()
  t.equal(outbox.busy, false)
  t.equal(channel.take().length, 1 + 130 + 1 + 70)
})

t.test('it is not busy for notifications', async t => {
  const { channel, outbox } = setUp()
  channel.buffered = MIB + 1
  for (let n = 0; n < 10; n++) outbox.post(big)
  t.equal(outbox.busy, false)
})

t.test('it reports a frame that cannot be encoded and goes on', async t => {
  const { channel, outbox, reports } = setUp()
  outbox.post(notificationFrame('big', 1n))
  outbox.post(note('a'))
  channel.buffered = MIB + 1
  outbox.post(notificationFrame('big', 1n))
  outbox.post(note('b'))
  channel.buffered = 0
  outbox.drain()
  t.strictSame(channel.take(), ['cork', sent('a'), sent('b')])
  const error = 'TypeError: Do not know how to serialize a BigInt'
  t.strictSame(reports, [
    [error, 'big'],
    [error, 'big'],
  ])
})

t.test('it hands over what waits before it closes', async t => {
  const { channel, outbox, tick } = setUp()
  channel.buffered = MIB + 1
  outbox.post(responseFrame('1', {}))
  outbox.close(1001, 'bye')
  outbox.close(1001, 'bye')
  tick()
  t.strictSame(channel.take(), ['cork', 'send {"id":1,"result":{}}', 'uncork', 'close 1001 bye'])
})

t.test('it forgets everything when the channel has gone', async t => {
  const { channel, outbox, timers } = setUp()
  channel.buffered = MIB + 1
  for (let n = 0; n < 65; n++) outbox.post(big)
  outbox.discard()
  channel.buffered = 0
  outbox.drain()
  outbox.post(note('a'))
  outbox.close(1000, '')
  t.strictSame([timers.pending, channel.take()], [[], []])
})

t.test('it keeps order over a long lag', async t => {
  const { channel, outbox } = setUp()
  channel.stuck = true
  const expected: string[] = []
  for (let n = 0; n < 20_000; n++) {
    outbox.post(notificationFrame(`n${n}`, 'x'.repeat(200)))
    expected.push(`n${n}`)
    if (n % 7000 === 6999) {
      channel.buffered = 0
      outbox.drain()
    }
  }
  for (let drains = 0; drains < 10; drains++) {
    channel.buffered = 0
    outbox.drain()
  }
  const got = channel
    .take()
    .filter(line => line.startsWith('send'))
    .map(line => JSON.parse(line.slice(5)).method)
  t.strictSame(got, expected)
})
