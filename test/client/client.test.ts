import { join } from 'node:path'
import t from 'tap'
import type { Child } from '../../src/client/child.ts'
import { Client } from '../../src/client/client.ts'
import type { ConnectOptions, Target } from '../../src/client/connect.ts'
import { connect } from '../../src/client/connect.ts'
import type { ClientRequests } from '../../src/protocol/codex/methods.gen.ts'
import type { Channel } from '../../src/rpc/channel.ts'
import { RpcError } from '../../src/rpc/error.ts'
import type { Frame } from '../../src/rpc/frame.ts'
import type { Incoming } from '../../src/rpc/message.ts'
import { errorFrame, notificationFrame, readMessage, requestFrame, responseFrame } from '../../src/rpc/message.ts'
import { memoryPair } from '../../src/transport/memory.ts'
import { FakeTimers } from '../rpc/fake-channel.ts'
import { open, serve, temporary, until } from '../transport/serve.ts'

/** A client and the server's end of its connection. */
function setUp(options: ConnectOptions = {}) {
  const [mine, theirs] = memoryPair()
  const got: Incoming[] = []
  theirs.open({ message: text => void got.push(readMessage(text)), oversized() {}, drain() {}, closed() {} })
  const send = (...frames: readonly Frame[]): void => frames.forEach(frame => void theirs.send(frame))
  return { client: new Client(mine, options), theirs, got, send }
}

const settle = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))
const note = (method: string, params?: unknown) => ({ kind: 'notification', method, params })

t.test('a client', t => {
  t.test('it matches answers to requests, in whatever order they come', async t => {
    const { client, got, send } = setUp()
    const [one, two] = [client.request('a', { x: 1 }), client.request('b')]
    await settle()
    t.strictSame(got, [
      { kind: 'request', id: '1', method: 'a', params: { x: 1 } },
      { kind: 'request', id: '2', method: 'b', params: undefined },
    ])
    send(
      responseFrame('2', 'second'),
      responseFrame('1', 'first'),
      responseFrame('1', 'again'),
      responseFrame('9', 'stray'),
    )
    t.strictSame(await Promise.all([one, two]), ['first', 'second'])
  })

  t.test('it knows the types of a dialect that it is told', async t => {
    const [mine, theirs] = memoryPair()
    const client = await connect<ClientRequests>(mine)
    theirs.open({
      message: () => theirs.send(responseFrame('1', { data: ['id'], nextCursor: null })),
      oversized() {},
      drain() {},
      closed() {},
    })
    const { data }: { readonly data: readonly string[] } = await client.request('thread/loaded/list', { limit: 1 })
    t.strictSame(data, ['id'])
    // @ts-expect-error no such method
    const unknown = client.request('no/such')
    // @ts-expect-error the limit is a number
    const wrong = client.request('thread/loaded/list', { limit: 'x' })
    theirs.close(1000, '')
    for (const asked of [unknown, wrong]) await t.rejects(asked, { message: 'the connection is closed' })
  })

  t.test('it rejects with the error the server sent', async t => {
    const { client, send } = setUp()
    const [one, two] = [client.request('a'), client.request('b')]
    send(errorFrame('1', { code: -32600, message: 'no', data: [1] }), errorFrame('2', Object.create(null)))
    await t.rejects(one, new RpcError(-32600, 'no', [1]))
    await t.rejects(two, new RpcError(-32603, 'unknown error'))
  })

  t.test('it hears notifications, and stops when told', async t => {
    const { client, send, got } = setUp()
    const heard: unknown[] = []
    const stop = client.on(({ method }) => heard.push(method))
    send(notificationFrame('a'))
    await settle()
    stop()
    send(notificationFrame('b'))
    client.notify('initialized')
    client.sendText('not json')
    await settle()
    t.strictSame(heard, ['a'])
    t.match(got, [note('initialized'), { kind: 'invalid', code: -32700 }])
  })

  t.test('it answers requests, and refuses them until told how', async t => {
    const { client, send, got } = setUp()
    send(requestFrame(0, 'ask'))
    await settle()
    client.onRequest(({ method, params }) => {
      if (method === 'bad') throw new RpcError(1, 'bad', { why: 1 })
      if (method === 'bug') throw new Error('bug')
      return Promise.resolve({ params })
    })
    send(requestFrame(1, 'ask', 5), requestFrame(2, 'bad'), requestFrame(3, 'bug'))
    await settle()
    t.strictSame(got, [
      { kind: 'failure', id: '0', error: { code: -32601, message: 'Method not found: ask' } },
      { kind: 'failure', id: '2', error: { code: 1, message: 'bad', data: { why: 1 } } },
      { kind: 'failure', id: '3', error: { code: -32603, message: 'Error: bug' } },
      { kind: 'result', id: '1', result: { params: 5 } },
    ])
  })

  t.test('it waits for the next message that fits, which may have come already', async t => {
    const timers = new FakeTimers()
    const { client, send } = setUp({ after: timers.after })
    send(notificationFrame('a', 1), notificationFrame('b', 2), notificationFrame('a', 3), requestFrame(0, 'ask'))
    await settle()
    t.strictSame(await client.next('b'), note('b', 2))
    t.strictSame([await client.next('a'), await client.next('a')], [note('a', 1), note('a', 3)])
    t.match(await client.next(message => message.kind === 'request'), { method: 'ask' })
    const [first, second] = [client.next('c'), client.next('c', 50)]
    send(notificationFrame('c', 1))
    t.strictSame(await first, note('c', 1))
    t.strictSame(
      timers.pending.map(({ ms }) => ms),
      [50],
    )
    timers.fire()
    await t.rejects(second, { message: 'c did not come within 50 ms' })
  })

  t.test('it forgets old messages that nobody waited for', async t => {
    const { client, send } = setUp()
    for (let n = 0; n < 25_000; n++) send(notificationFrame('n', n))
    await settle()
    const oldest = await client.next('n')
    t.strictSame(oldest, note('n', 10_001))
    t.strictSame(await client.next(({ params }) => params === 24_999), note('n', 24_999))
  })

  t.test('it shows everything to its tap, and answers nothing to nonsense', async t => {
    const seen: string[] = []
    const { client, send, got, theirs } = setUp({ tap: (direction, text) => void seen.push(`${direction} ${text}`) })
    client.notify('hello')
    send(errorFrame(null, { code: -32700, message: 'x' }), notificationFrame('a'))
    theirs.send(notificationFrame('b'))
    client.sendText('{')
    await settle()
    theirs.send({ bytes: Buffer.from('nonsense\n') } as Frame)
    await settle()
    t.strictSame(seen, [
      'out {"method":"hello"}',
      'out {',
      'in {"error":{"code":-32700,"message":"x"},"id":null}',
      'in {"method":"a"}',
      'in {"method":"b"}',
      'in nonsense',
    ])
    t.equal(got.length, 2)
  })

  t.test('it rejects whatever waits when the connection ends, and then everything', async t => {
    const { client, theirs } = setUp()
    const [asked, awaited] = [client.request('a'), client.next('b')]
    theirs.close(1000, '')
    await client.closed
    await t.rejects(asked, { message: 'the connection is closed' })
    await t.rejects(awaited, { message: 'the connection is closed' })
    await t.rejects(client.request('c'), { message: 'c: the connection is closed' })
    await t.rejects(client.next('d'), { message: 'the connection is closed' })
    client.notify('e')
    await client.close()
  })

  t.test('it can stop reading for a while', async t => {
    const { client, send } = setUp()
    const heard: string[] = []
    client.on(({ method }) => void heard.push(method))
    client.pause()
    send(notificationFrame('a'))
    await settle()
    t.strictSame(heard, [])
    client.resume()
    await settle()
    t.strictSame(heard, ['a'])
  })
  t.end()
})

t.test('connect', t => {
  const echo = async (target: Target, options: ConnectOptions = {}): Promise<unknown> => {
    const client = await connect(target, options)
    const answer = await client.request('m', 'é'.repeat(50_000))
    await client.close()
    return answer === 'é'.repeat(50_000)
  }

  t.test('it reaches a server over a WebSocket, with its token and path', async t => {
    const served = await serve(t, 'ws://127.0.0.1:0')
    t.equal(await echo(`${served.url}/native`, { token: served.token() }), true)
    t.equal(await echo(served.url, { token: served.token(), path: '/other' }), true)
    const paths = (channels: readonly Channel[]): unknown => channels.map(({ path }) => path)
    t.strictSame(paths(served.channels), ['/native', '/other'])
    const refused = 'the server refused the connection:'
    await t.rejects(connect(served.url), { message: `${refused} 401 missing websocket bearer token` })
    await t.rejects(connect(served.url, { token: 'x' }), { message: `${refused} 401 invalid websocket bearer token` })
    await t.rejects(connect(served.url, { headers: { Origin: 'null' } }), { message: `${refused} 403` })
    served.close()
    await t.rejects(connect(served.url), { code: 'ECONNREFUSED' })
    await t.rejects(connect('ws://'), { code: 'ERR_INVALID_URL' })
  })

  t.test('it reaches a server over a unix socket', async t => {
    const path = join(temporary(t), 's')
    const served = await serve(t, `unix://${path}`)
    t.equal(await echo(served.url, { path: '/rpc' }), true)
    t.strictSame(
      served.channels.map(channel => [channel.transport, channel.path]),
      [['unix', '/rpc']],
    )
    await t.rejects(connect(`unix://${path}x`), { code: 'ENOENT' })
  })

  t.test('it loses nothing that a server says at once', async t => {
    const served = await open(t)
    const client = connect(served.url)
    await until(() => served.outboxes.length === 1)
    for (let n = 0; n < 100; n++) served.outboxes[0]?.post(notificationFrame('n', n))
    const opened = await client
    const got: unknown[] = []
    for (let n = 0; n < 100; n++) got.push((await opened.next('n')).params)
    t.strictSame(
      got,
      Array.from({ length: 100 }, (_, n) => n),
    )
    await opened.close()
  })

  t.test('it hears that a server has closed', async t => {
    const served = await open(t)
    const client = await connect(served.url)
    const asked = client.request('m')
    await asked
    served.channels[0]?.close(1012, 'restart')
    await client.closed
    await t.rejects(client.request('m'), { message: 'm: the connection is closed' })
  })

  t.test('it starts a server, speaks over its stdio, and waits for its end', async t => {
    const program = new URL('../transport/echo-server.ts', import.meta.url).pathname
    let child: Child | null = null
    const command = { command: process.execPath, args: ['--import=tsx', program] }
    const started = (one: Child): void => {
      child = one
    }
    t.equal(await echo({ ...command, started }), true)
    t.match(child, { exitCode: 0 })
    const client = await connect({ ...command, started })
    const asked = client.request('m')
    await asked
    const killed = child as Child | null
    killed?.kill('SIGKILL')
    await client.closed
    await t.rejects(client.request('m'), { message: 'm: the connection is closed' })
    await t.rejects(connect({ command: '/no/such/program', args: [] }), { code: 'ENOENT' })
  })

  t.test('it gives a server its environment and directory, and hears its last words', async t => {
    const dir = temporary(t)
    const program = `
      console.log(JSON.stringify({ method: 'env', params: [Object.keys(process.env).includes('HOME'), process.env.X, process.cwd()] }))
      console.error('to stderr')
      process.stdout.write('{"method":"last"}')`
    let stderr = ''
    const client = await connect({
      command: process.execPath,
      args: ['-e', program],
      env: { X: 'y' },
      cwd: dir,
      stderr: text => {
        stderr += text
      },
    })
    t.strictSame(await client.next('env'), note('env', [false, 'y', dir]))
    t.strictSame(await client.next('last'), note('last'))
    await client.closed
    t.equal(stderr, 'to stderr\n')
    client.notify('to nobody')
    await client.close()
  })

  t.test('it takes one end of a pair in memory', async t => {
    const [mine, theirs] = memoryPair()
    theirs.open({
      message: text => {
        const message = readMessage(text)
        if (message.kind === 'request') theirs.send(responseFrame(message.id, message.params))
      },
      oversized() {},
      drain() {},
      closed() {},
    })
    t.equal(await echo(mine), true)
  })
  t.end()
})
