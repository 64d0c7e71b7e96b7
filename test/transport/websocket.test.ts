import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import t from 'tap'
import { notificationFrame } from '../../src/rpc/message.ts'
import { Outbox } from '../../src/rpc/outbox.ts'
import { parseAddress } from '../../src/transport/address.ts'
import { listen } from '../../src/transport/listen.ts'
import { FakeTimers } from '../rpc/fake-channel.ts'
import { ask, closing, dial, lines, message, open, UPGRADE, until } from './serve.ts'

t.test('websocket', t => {
  t.test('it carries one message a text frame, both ways, and answers pings', async t => {
    const served = await open(t)
    const ws = await dial(`${served.url}/native?x=1`)
    ws.send('{"id":"a","method":"m","params":"é"}')
    t.equal(await message(ws), '{"id":"a","result":"é"}')
    ws.send(Buffer.from('{"id":2,"method":"m"}'), { binary: true })
    ws.send('{"method":"x"}\n{"method":"y"}')
    ws.send('{"id":3,', { fin: false })
    ws.send('"method":"m"}', { fin: true })
    t.equal(await message(ws), '{"id":3,"result":null}', 'a binary frame is ignored, fragments are one message')
    t.strictSame(served.log, ['invalid {"method":"x"}\n{"method":"y"}'])
    const pong = new Promise(resolve => ws.once('pong', data => resolve(String(data))))
    ws.ping('hello')
    t.equal(await pong, 'hello')
    t.strictSame(
      served.channels.map(({ path, transport }) => [path, transport]),
      [['/native', 'websocket']],
    )
    ws.close(1000)
    await until(() => served.log.includes('closed'))
  })

  t.test('it sends small and large messages of every header size in order', async t => {
    const served = await open(t)
    const ws = await dial(served.url)
    await until(() => served.channels.length === 1)
    const sizes = [26, 124, 125, 126, 127, 65_534, 65_535, 65_536, 65_537, 30, 3_000_000, 70_000, 31]
    const got: string[] = []
    ws.on('message', data => got.push(String(data)))
    const frames = sizes.map(size => notificationFrame('m', 'x'.repeat(size - 26)))
    for (const frame of frames) served.outboxes[0]?.post(frame)
    await until(() => got.length === sizes.length)
    t.ok(got.every((text, at) => `${text}\n` === frames[at]?.bytes.toString()))
    t.strictSame(
      got.map(text => text.length),
      sizes,
    )
    ws.terminate()
  })

  t.test('it gives every subscriber the same stream', async t => {
    const served = await open(t)
    const all = await Promise.all(Array.from({ length: 5 }, () => dial(served.url)))
    const got = all.map(ws => {
      const texts: string[] = []
      ws.on('message', data => texts.push(String(data)))
      return texts
    })
    await until(() => served.channels.length === 5)
    const expected: string[] = []
    for (let tick = 0; tick < 20; tick++) {
      for (let n = 0; n < 10; n++) {
        const frame = notificationFrame('delta', { tick, n })
        expected.push(frame.bytes.toString().trimEnd())
        for (const outbox of served.outboxes) outbox.post(frame)
      }
      await new Promise(setImmediate)
    }
    await until(() => got.every(texts => texts.length === expected.length))
    for (const texts of got) t.strictSame(texts, expected)
    for (const ws of all) ws.terminate()
  })

  t.test('it stops in the middle of a burst and loses nothing', async t => {
    const served = await open(t)
    const ws = await dial(served.url)
    await until(() => served.channels.length === 1)
    served.channels[0]?.pause()
    for (let id = 0; id < 1000; id++) ws.send(`{"method":"n${id}"}`)
    await new Promise(resolve => setTimeout(resolve, 20))
    t.strictSame(served.log, [])
    served.channels[0]?.resume()
    await until(() => served.log.length === 1000)
    t.equal(served.log[999], 'notification {"method":"n999"}')
    ws.terminate()
  })

  t.test('it closes with a code and a reason that fits', async t => {
    const served = await open(t)
    const [one, two] = [await dial(served.url), await dial(served.url)]
    await until(() => served.channels.length === 2)
    served.channels[0]?.pause()
    const closed = [closing(one), closing(two)]
    served.channels[0]?.close(1012, 'restart')
    served.channels[1]?.close(1013, 'é'.repeat(100))
    t.strictSame(await Promise.all(closed), ['1012 restart', `1013 ${'é'.repeat(61)}`])
    await until(() => served.log.length === 2)
    served.channels[0]?.send(notificationFrame('late'))
    served.channels[0]?.close(1000, '')
    t.strictSame(served.log, ['closed', 'closed'])
  })

  t.test('it closes for a message over 64 MiB, bytes that are no text, and frames that are no WebSocket', async t => {
    const served = await open(t)
    const big = await dial(served.url)
    const closed = closing(big)
    big.on('error', () => {})
    big.send('x'.repeat(64 * 1024 * 1024 + 1))
    t.equal(await closed, '1009')
    const bad = await dial(served.url)
    const gone = closing(bad)
    bad.send(Buffer.from([0xff, 0xfe]), { binary: false })
    t.equal(await gone, '1007')
    await until(() => served.log.length === 2)
    const bytes = lines('GET / HTTP/1.1', `Host: 127.0.0.1:${served.port}`, ...UPGRADE)
    const socket = connectSocket(served.port, '127.0.0.1', () => socket.write(bytes))
    socket.once('data', () => socket.write('this is not a frame'))
    await new Promise(resolve => socket.on('close', resolve))
    t.match(await ask(served.port, 'GET /readyz'), '200')
  })

  t.test('it outlives peers that are reset or vanish, also while they are paused', async t => {
    const served = await open(t)
    for (let n = 0; n < 3; n++) {
      const ws = await dial(served.url)
      await until(() => served.channels.length === n + 1)
      if (n > 0) served.channels[n]?.pause()
      const socket = Reflect.get(ws, '_socket') as Socket
      ws.on('error', () => {})
      if (n === 1) socket.resetAndDestroy()
      else socket.destroy()
      served.outboxes[n]?.post(notificationFrame('a'))
      await new Promise(resolve => setTimeout(resolve, 5))
      served.outboxes[n]?.post(notificationFrame('b'))
      await until(() => served.log.length === n + 1)
    }
    t.strictSame(served.log, ['closed', 'closed', 'closed'])
  })

  t.test('it merges and finally closes for a reader that stops, while others go on', async t => {
    const timers = new FakeTimers()
    const accepted: Outbox[] = []
    const home = t.testdir()
    const address = parseAddress('ws://127.0.0.1:0', { home, cwd: home })
    const listener = await listen(address, { home, wsAuth: 'off' }, channel => {
      const outbox = new Outbox(channel, { after: timers.after })
      accepted.push(outbox)
      channel.open({ message() {}, oversized() {}, drain: () => outbox.drain(), closed: () => outbox.discard() })
    })
    t.teardown(() => listener.close())
    const slow = await dial(listener.url)
    const fast = await dial(listener.url)
    await until(() => accepted.length === 2)
    slow.pause()
    let read = 0
    fast.on('message', () => read++)
    const frame = notificationFrame('item', 'x'.repeat(1024 * 1024))
    for (let n = 1; n <= 80; n++) {
      for (const outbox of accepted) outbox.post(frame)
      await until(() => read === n)
    }
    t.equal(timers.pending.length, 1, 'the slow one is on notice')
    const closed = closing(slow)
    timers.fire()
    slow.resume()
    t.equal(await closed, '1013 slow')
    accepted[1]?.post(notificationFrame('still here'))
    await until(() => read === 81)
    fast.terminate()
  })

  t.test('it leaves pings of a peer that reads nothing unanswered', async t => {
    const served = await open(t)
    const ws = await dial(served.url)
    await until(() => served.channels.length === 1)
    ws.pause()
    for (let n = 0; n < 20; n++) served.channels[0]?.send(notificationFrame('m', 'x'.repeat(1024 * 1024)))
    const before = served.channels[0]?.buffered ?? 0
    t.ok(before > 1024 * 1024)
    for (let n = 0; n < 1000; n++) ws.ping('x'.repeat(125))
    ws.send('{"method":"after the pings"}')
    await until(() => served.log.length === 1)
    t.ok((served.channels[0]?.buffered ?? 0) <= before)
    ws.terminate()
  })

  t.test('it stops listening and leaves connections alone', async t => {
    const served = await open(t)
    const ws = await dial(served.url)
    served.close()
    await t.rejects(dial(served.url), { code: 'ECONNREFUSED' })
    ws.send('{"id":1,"method":"m"}')
    t.equal(await message(ws), '{"id":1,"result":null}')
    ws.terminate()
  })
  t.end()
})
