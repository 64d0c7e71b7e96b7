import { spawn } from 'node:child_process'
import { PassThrough, Writable } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import type { Channel, ChannelHandlers } from '../../src/rpc/channel.ts'
import { notificationFrame } from '../../src/rpc/message.ts'
import { isLoopback, parseAddress, wsUrl } from '../../src/transport/address.ts'
import type { Line } from '../../src/transport/lines.ts'
import { LineSplitter } from '../../src/transport/lines.ts'
import { memoryPair } from '../../src/transport/memory.ts'
import { stdioChannel } from '../../src/transport/stdio.ts'

/** Opens `channel` and notes all that happens to it. */
function record(channel: Channel, more: Partial<ChannelHandlers> = {}): { log: string[]; closed: Promise<void> } {
  const log: string[] = []
  const closed = new Promise<void>(resolve => {
    channel.open({
      message: text => void log.push(text),
      oversized: bytes => void log.push(`oversized ${bytes}`),
      drain: () => void log.push('drain'),
      ended: () => void log.push('ended'),
      closed: () => {
        log.push('closed')
        resolve()
      },
      ...more,
    })
  })
  return { log, closed }
}

const settle = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

t.test('addresses', async t => {
  const places = { home: '/home/skein', cwd: '/project' }
  const parse = (text: string) => parseAddress(text, places)
  t.strictSame(parse('stdio://'), { kind: 'stdio' })
  t.strictSame(parse('off'), { kind: 'off' })
  t.strictSame(parse('unix://'), { kind: 'unix', path: '/home/skein/app-server/app-server.sock' })
  t.strictSame(parse('unix:///run/x.sock'), { kind: 'unix', path: '/run/x.sock' })
  t.strictSame(parse('unix://x.sock'), { kind: 'unix', path: '/project/x.sock' })
  t.strictSame(parse('ws://127.0.0.1:0'), { kind: 'ws', host: '127.0.0.1', port: 0 })
  t.strictSame(parse('ws://[::1]:65535'), { kind: 'ws', host: '::1', port: 65535 })
  const expected = 'expected `stdio://`, `unix://`, `unix://PATH`, `ws://IP:PORT`, or `off`'
  for (const bad of [
    '',
    'stdio',
    'http://127.0.0.1:1',
    'wss://127.0.0.1:1',
    'tcp://x',
    'unix:/x',
    'unix:///a\0b',
    'OFF',
  ]) {
    t.throws(() => parse(bad), { message: `unsupported --listen URL \`${bad}\`; ${expected}` })
  }
  const hosts = [
    'localhost:1',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '127.0.0.1:-1',
    '127.0.0.1:1/',
    '::1:1',
    '[::1]',
  ]
  for (const bad of [
    ...hosts,
    '[127.0.0.1]:1',
    '[fe80::1%eth0]:1',
    '1.2.3:1',
    '0x7f.1.1.1:1',
    ':1',
    '',
    ' 127.0.0.1:1',
  ]) {
    t.throws(() => parse(`ws://${bad}`), {
      message: `invalid websocket --listen URL \`ws://${bad}\`; expected \`ws://IP:PORT\``,
    })
  }
  t.equal(wsUrl('::1', 80), 'ws://[::1]:80')
  for (const own of ['127.0.0.1', '127.1.2.3', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1']) t.ok(isLoopback(own), own)
  for (const open of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '::2', 'fe80::1', '1::1', '::ffff:10.0.0.1'])
    t.notOk(isLoopback(open), open)
})

t.test('lines', t => {
  const split = (bytes: Buffer, cut: number, limit?: number): readonly Line[] => {
    const lines = new LineSplitter(limit)
    const all: Line[] = []
    for (let at = 0; at < bytes.length; at += cut) all.push(...lines.push(bytes.subarray(at, at + cut)))
    return [...all, ...lines.end()]
  }

  t.test('it gives the same lines however the bytes are cut', async t => {
    const bytes = Buffer.from('\ufeff{"a":"é😀"}\r\n\n\ufeffb\nc\rd\r\n\r\nlast')
    for (let cut = 1; cut <= bytes.length; cut++) {
      t.strictSame(split(bytes, cut), ['{"a":"é😀"}', '', 'b', 'c\rd', '', 'last'], `${cut} at a time`)
    }
  })

  t.test('it replaces what is not UTF-8', async t => {
    t.strictSame(split(Buffer.from([0x61, 0xff, 0xc0, 0x80, 0x0a, 0xf0, 0x9f, 0x0a, 0xef, 0xbb]), 1), [
      'a\ufffd\ufffd\ufffd',
      '\ufffd',
      '\ufffd',
    ])
  })

  t.test('it drops a line over the limit and tells how long it was', async t => {
    const bytes = Buffer.from('1234\n12345\n1234567890\nok\n123456')
    for (let cut = 1; cut <= bytes.length; cut++)
      t.strictSame(split(bytes, cut, 4), ['1234', 5, 10, 'ok', 6], `${cut} at a time`)
  })

  t.test('it holds back no memory for a line over the limit', async t => {
    const lines = new LineSplitter()
    const mib = Buffer.alloc(1024 * 1024, 'a')
    for (let n = 0; n < 256; n++) t.strictSame(lines.push(mib), [])
    t.strictSame(lines.push(Buffer.from('\n{}\n')), [256 * 1024 * 1024, '{}'])
  })

  t.test('it puts a long line together from pieces of all sizes', async t => {
    const lines = new LineSplitter()
    let expected = ''
    for (let n = 0; n < 3000; n++) {
      const piece = String(n % 10).repeat(n % 100 === 0 ? 20_000 : (n * 7) % 90)
      expected += piece
      if (lines.push(Buffer.from(piece)).length > 0) t.fail('too early')
    }
    t.strictSame(lines.push(Buffer.from('end\nnext\n')), [`${expected}end`, 'next'])
    for (let n = 0; n < 100_000; n++) lines.push(Buffer.from('x'))
    t.strictSame(lines.end(), ['x'.repeat(100_000)])
    t.strictSame(lines.end(), [])
  })

  t.test('it agrees with splitting the whole text', async t => {
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(fc.array(fc.string({ unit: 'binary' })), fc.integer({ min: 1, max: 9 }), (parts, cut) => {
          const text = parts
            .map(part => part.replaceAll('\n', '').replace(/\r$/, '').replaceAll('\ufeff', ''))
            .join('\n')
          const whole = text.split('\n').map(line => Buffer.from(line).toString())
          if (whole.at(-1) === '') whole.pop()
          return (
            JSON.stringify(split(Buffer.from(text), cut)) === JSON.stringify(whole.map(line => line.replace(/\r$/, '')))
          )
        }),
      ),
    )
  })
  t.end()
})

t.test('stdio', t => {
  const setUp = () => {
    const input = new PassThrough()
    const output = new PassThrough()
    return { input, output, channel: stdioChannel(input, output) }
  }

  t.test('it reads lines, writes lines, and tells the end of input before the end', async t => {
    const { input, output, channel } = setUp()
    const { log, closed } = record(channel)
    input.write('{"id":1}\n{"id"')
    input.end(':2}\r\nlast')
    await settle()
    t.strictSame(log.splice(0), ['{"id":1}', '{"id":2}', 'last', 'ended'])
    channel.cork()
    channel.send(notificationFrame('answer'))
    channel.send(notificationFrame('late'))
    channel.uncork()
    channel.close(1000, '')
    channel.send(notificationFrame('too late'))
    t.equal(String(output.read()), '{"method":"answer"}\n{"method":"late"}\n')
    output.resume()
    await closed
    t.strictSame(log, ['closed'])
    t.strictSame([channel.transport, channel.path], ['stdio', null])
  })

  t.test('it closes at the end of input where nobody asked for more', async t => {
    const { input, channel } = setUp()
    const closed = new Promise<void>(resolve => {
      channel.open({ message() {}, oversized() {}, drain() {}, closed: resolve })
    })
    input.end()
    await closed
    t.pass()
  })

  t.test('it stops in the middle of a chunk and loses nothing', async t => {
    const { input, channel } = setUp()
    const log: string[] = []
    record(channel, {
      message: text => {
        log.push(text)
        if (text === '2') channel.pause()
      },
      ended: () => void log.push('ended'),
    })
    input.write('1\n2\n3\n')
    input.end('4\n')
    await settle()
    t.strictSame(log.splice(0), ['1', '2'])
    channel.resume()
    await settle()
    t.strictSame(log, ['3', '4', 'ended'])
  })

  t.test('it can be paused and resumed from inside a message', async t => {
    const { input, channel } = setUp()
    const { log } = record(channel, {
      message: text => {
        log.push(text)
        channel.pause()
        channel.resume()
      },
    })
    input.write('1\n2\n3\n')
    await settle()
    t.strictSame(log, ['1', '2', '3'])
  })

  t.test('it goes on after a message that its session fails on', async t => {
    const channel = stdioChannel(new PassThrough(), new PassThrough())
    const input = new PassThrough()
    const other = stdioChannel(input, new PassThrough())
    t.ok(channel)
    const { log } = record(other, {
      message: text => {
        log.push(text)
        if (text === 'bad') throw new Error('a bug')
      },
    })
    t.throws(() => input.emit('data', Buffer.from('bad\ngood\n')), { message: 'a bug' })
    input.emit('data', Buffer.from('more\n'))
    t.strictSame(log, ['bad', 'good', 'more'])
  })

  t.test('it is closed when nobody reads the output any more', async t => {
    const { input, output, channel } = setUp()
    const { log, closed } = record(channel)
    output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    await closed
    channel.send(notificationFrame('a'))
    input.write('{"id":1}\n')
    await settle()
    t.strictSame([log, input.destroyed], [['closed'], true])
  })

  t.test('it is closed when the output broke before it was opened', async t => {
    const { output, channel } = setUp()
    output.destroy(new Error('EPIPE'))
    await settle()
    await record(channel).closed
    t.pass()
  })

  t.test('it takes a failing input for its end', async t => {
    const { input, channel } = setUp()
    const { log } = record(channel)
    input.destroy(new Error('EIO'))
    await settle()
    t.strictSame(log, ['ended'])
  })

  t.test('it counts what is not taken yet and says when there is room', async t => {
    const taken: (() => void)[] = []
    const output = new Writable({ highWaterMark: 10, write: (_chunk, _encoding, done) => void taken.push(done) })
    const channel = stdioChannel(new PassThrough(), output)
    const { log } = record(channel)
    const frame = notificationFrame('x'.repeat(50))
    channel.send(frame)
    channel.send(frame)
    t.equal(channel.buffered, 2 * frame.bytes.length)
    while (taken.length > 0) {
      taken.shift()?.()
      await settle()
    }
    t.strictSame([log, channel.buffered], [['drain'], 0])
    output.destroy()
  })

  t.test('it answers ten thousand pipelined requests over real pipes, more than a reader takes at once', async t => {
    const echo = new URL('./echo-server.ts', import.meta.url).pathname
    const child = spawn(process.execPath, ['--import=tsx', echo], { stdio: ['pipe', 'pipe', 'inherit'] })
    const exited = new Promise<number | null>(resolve => child.on('exit', resolve))
    let requests = ''
    for (let id = 0; id < 10_000; id++) requests += `{"id":${id},"method":"m","params":"${'x'.repeat(1000)}"}\n`
    child.stdin.write('\xff not json\n', 'latin1')
    child.stdin.end(requests)
    let text = ''
    for await (const chunk of child.stdout) text += String(chunk)
    const answers = text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    t.match(answers.shift(), { id: null, error: { code: -32700 } })
    t.strictSame(
      answers.map(({ id }) => id),
      Array.from({ length: 10_000 }, (_, id) => id),
    )
    t.equal(await exited, 0)
  })
  t.end()
})

t.test('memory', t => {
  t.test('it carries messages both ways, after the current step', async t => {
    const [a, b] = memoryPair('/native')
    const [atA, atB] = [record(a), record(b)]
    a.send(notificationFrame('to b'))
    b.send(notificationFrame('to a'))
    t.strictSame([atA.log, atB.log], [[], []])
    await settle()
    t.strictSame([atA.log, atB.log], [['{"method":"to a"}'], ['{"method":"to b"}']])
    t.strictSame([a.path, a.transport, a.buffered], ['/native', 'memory', 0])
  })

  t.test('it counts what a paused peer has not read', async t => {
    const [a, b] = memoryPair()
    const atA = record(a)
    const atB = record(b)
    b.pause()
    const frame = notificationFrame('x'.repeat(10_000))
    a.send(frame)
    a.send(frame)
    await settle()
    t.strictSame([atB.log, a.buffered, atA.log], [[], 2 * frame.bytes.length, []])
    b.resume()
    await settle()
    const text = frame.bytes.toString().trimEnd()
    t.strictSame([atB.log, a.buffered, atA.log], [[text, text], 0, ['drain']])
  })

  t.test('it keeps messages for a peer that opens late, and holds back while corked', async t => {
    const [a, b] = memoryPair()
    record(a)
    a.cork()
    a.send(notificationFrame('x'))
    const atB = record(b)
    await settle()
    t.strictSame(atB.log, [])
    a.uncork()
    await settle()
    t.strictSame(atB.log, ['{"method":"x"}'])
  })

  t.test('it delivers what was sent before a close, and tells both sides once', async t => {
    const [a, b] = memoryPair()
    const [atA, atB] = [record(a), record(b)]
    a.send(notificationFrame('last'))
    a.close(1000, '')
    a.close(1000, '')
    a.send(notificationFrame('too late'))
    await Promise.all([atA.closed, atB.closed])
    b.send(notificationFrame('nobody'))
    b.close(1000, '')
    await settle()
    t.strictSame([atA.log, atB.log], [['closed'], ['{"method":"last"}', 'closed']])
  })
  t.end()
})
