import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import t from 'tap'
import { proxyFor } from '../../../src/engine/models/agents.ts'
import { EventReader } from '../../../src/engine/models/event-reader.ts'
import { retryAfter } from '../../../src/engine/models/failures.ts'
import type { ModelEvent, ModelFailure } from '../../../src/engine/models/model.ts'
import type { ModelConfig } from '../../../src/engine/models/model-settings.ts'
import { Models } from '../../../src/engine/models/models.ts'
import { type Post, post } from '../../../src/engine/models/transport.ts'
import { request as ask } from './support.ts'

interface Listening {
  readonly port: number
  readonly url: URL
  /** Connections so far. */
  readonly connections: () => number
}

/** Starts `server` on a free loopback port; its connections end with the test. */
async function listen(t: { teardown(step: () => void): void }, server: Server): Promise<Listening> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, url: new URL(`http://127.0.0.1:${port}/v1/responses`), connections: () => connections }
}

const serve = (t: { teardown(step: () => void): void }, handle: RequestListener): Promise<Listening> =>
  listen(t, createServer(handle))

const stream = (response: ServerResponse, ...pieces: readonly (string | Buffer)[]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of pieces) response.write(piece)
}

interface Outcome {
  readonly failure: ModelFailure | null
  readonly events: readonly string[]
}

async function send(
  url: URL,
  more: Partial<Post> & { readonly signal?: AbortSignal; readonly until?: string } = {},
): Promise<Outcome> {
  const { signal = new AbortController().signal, until, ...rest } = more
  const events: string[] = []
  const read = (data: string): boolean => {
    events.push(data)
    return data === until
  }
  const plain: Post = { url, headers: {}, body: '{"a":"é"}', headerTimeoutMs: 5_000, idleTimeoutMs: 5_000, env: {} }
  return { failure: await post({ ...plain, ...rest }, read, signal), events }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

t.test('it posts a body and gives each event as it comes', async t => {
  const seen: object[] = []
  const { url } = await serve(t, async (request, response) => {
    const { method, headers } = request
    seen.push({ method, url: request.url, body: await bodyOf(request), headers })
    stream(
      response,
      'event: x\ndata: 1\n\n',
      ': comment\n\n',
      'data: two\ndata: lines\r\n\r\n',
      'odd: field\n\n',
      'data: [DONE]\n\n',
    )
    response.end()
  })
  const outcome = await send(url, { headers: { authorization: 'Bearer k', 'x-a': 'b' } })
  t.strictSame(outcome, { failure: null, events: ['1', 'two\nlines', '[DONE]'] })
  t.match(seen, [
    {
      method: 'POST',
      url: '/v1/responses',
      body: '{"a":"é"}',
      headers: {
        authorization: 'Bearer k',
        'x-a': 'b',
        'content-type': 'application/json',
        'content-length': '10',
        accept: 'text/event-stream',
        'accept-encoding': 'identity',
      },
    },
  ])
})

t.test(
  'it reads streams cut anywhere, with a byte order mark, without a last blank line or a content type',
  async t => {
    const bytes = Buffer.from('\ufeffdata: {"d":"é😀"}\r\n\r\ndata: 2\n\ndata: last')
    const { url } = await serve(t, async (_, response) => {
      response.writeHead(200)
      for (const byte of bytes) {
        response.write(Buffer.from([byte]))
        await new Promise(done => setImmediate(done))
      }
      response.end()
    })
    t.strictSame(await send(url), { failure: null, events: ['{"d":"é😀"}', '2', 'last'] })
  },
)

t.test('it keeps its connection, and opens another only when that is busy', async t => {
  const held: ServerResponse[] = []
  const server = await serve(t, (_, response) => {
    stream(response, 'data: x\n\n')
    if (held.length > 0) response.end()
    else held.push(response)
  })
  const first = send(server.url)
  while (held.length === 0) await new Promise(done => setImmediate(done))
  await send(server.url)
  held[0]?.end()
  await first
  for (let n = 0; n < 5; n++) t.strictSame(await send(server.url), { failure: null, events: ['x'] })
  t.equal(server.connections(), 2)
})

t.test('it ends with the last event, and does not wait for a server that keeps the stream open', async t => {
  const { url } = await serve(t, (_, response) => stream(response, 'data: a\n\ndata: end\n\ndata: more\n\n'))
  t.strictSame(await send(url, { until: 'end' }), { failure: null, events: ['a', 'end'] })
})

t.test('it tries once more when an idle connection went stale, and only then', async t => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9\r\n\r\ndata: 1\n\n'
  const used = new Set<Socket>()
  const server = createTcpServer(socket => {
    socket.on('data', () => {
      if (used.has(socket)) return socket.resetAndDestroy()
      used.add(socket)
      socket.write(answer)
    })
  })
  const { url, connections } = await listen(t, server)
  for (let n = 1; n <= 3; n++) {
    t.strictSame(await send(url), { failure: null, events: ['1'] })
    t.equal(connections(), n, 'each request after the first finds its connection dead')
  }
})

t.test('it reports what went wrong on the way', async t => {
  const reset = await listen(
    t,
    createTcpServer(socket => socket.on('data', () => socket.resetAndDestroy())),
  )
  t.strictSame((await send(reset.url)).failure, {
    kind: 'network',
    message: `error sending request for url (${reset.url})`,
    url: `${reset.url}`,
    code: 'ECONNRESET',
  })
  t.equal(reset.connections(), 1, 'a fresh connection is not tried again')

  const gone = createTcpServer()
  const { url, port } = await listen(t, gone)
  gone.close()
  await once(gone, 'close')
  const asked = new URL(`${url}?key=secret`)
  asked.username = 'me'
  t.strictSame((await send(asked)).failure, {
    kind: 'network',
    message: `error sending request for url (${url}): connect ECONNREFUSED 127.0.0.1:${port}`,
    url: `${url}`,
    code: 'ECONNREFUSED',
  })

  const cut = await serve(t, (_, response) => {
    stream(response, 'data: 1\n\n')
    setImmediate(() => response.destroy())
  })
  t.strictSame(await send(cut.url), {
    failure: { kind: 'network', message: 'Transport error: network error: error decoding response body' },
    events: ['1'],
  })

  t.match((await send(url, { headers: { authorization: 'Bearer a\nb' } })).failure, {
    kind: 'network',
    code: 'ERR_INVALID_CHAR',
    message: /Invalid character in header content/,
  })
})

t.test('it gives an error answer with its body, and follows no redirect', async t => {
  let stolen = 0
  const thief = await serve(t, (_, response) => {
    stolen++
    response.end()
  })
  const json = { 'content-type': 'application/json' }
  const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
    '/json': r => r.writeHead(401, json).end('{"error":{"message":"bad key","type":"auth"}}'),
    '/limit': r => r.writeHead(429, { ...json, 'retry-after': '7' }).end('{"error":"slow down"}'),
    '/html': r => r.writeHead(502, { 'content-type': 'text/html' }).end('<html>bad gateway</html>'),
    '/empty': r => r.writeHead(503).end(),
    '/redirect': r => r.writeHead(307, { location: `${thief.url}` }).end(),
    '/page': r => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>'),
    '/document': r => r.writeHead(200, json).end('{"error":{"message":"late","code":"x"}}'),
    '/endless': r => {
      r.writeHead(500)
      const more = (): void => {
        if (!r.destroyed) r.write('x'.repeat(16_384), () => setImmediate(more))
      }
      more()
    },
    '/half': r => {
      r.writeHead(500, { 'content-length': '100' })
      r.write('half')
      setImmediate(() => r.destroy())
    },
  }
  const { url } = await serve(t, (request, response) => answers[request.url ?? '']?.(response))
  const failureAt = async (path: string): Promise<ModelFailure | null> =>
    (await send(new URL(path, url), { headers: { authorization: 'k' } })).failure
  const failed = (path: string, status: number, more: object): object => ({
    kind: 'http',
    status,
    url: `${new URL(path, url)}`,
    ...more,
  })
  t.strictSame(
    await failureAt('/json'),
    failed('/json', 401, {
      message: 'bad key',
      statusText: 'Unauthorized',
      body: '{"error":{"message":"bad key","type":"auth"}}',
      code: 'auth',
    }),
  )
  t.strictSame(
    await failureAt('/limit'),
    failed('/limit', 429, {
      message: 'slow down',
      statusText: 'Too Many Requests',
      body: '{"error":"slow down"}',
      retryAfterMs: 7000,
    }),
  )
  t.match(await failureAt('/html'), failed('/html', 502, { message: 'HTTP 502', body: '<html>bad gateway</html>' }))
  t.match(await failureAt('/empty'), failed('/empty', 503, { message: 'HTTP 503', body: '' }))
  t.match(await failureAt('/redirect'), failed('/redirect', 307, { message: 'HTTP 307' }))
  t.match(await failureAt('/page'), failed('/page', 200, { body: '<html>login</html>' }))
  t.match(await failureAt('/document'), failed('/document', 200, { message: 'late', code: 'x' }))
  t.equal((await failureAt('/endless'))?.body?.length, 65_536)
  t.match(await failureAt('/half'), failed('/half', 500, { body: 'half' }))
  t.equal(stolen, 0)
})

t.test('it reads when a provider wants to be asked again', async t => {
  const now = Date.parse('Mon, 30 Nov 2026 12:00:00 GMT')
  const cases: readonly [object, number | undefined][] = [
    [{}, undefined],
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': ['1', '2'] }, undefined],
    [{ 'retry-after': 'Mon, 30 Nov 2026 12:00:10 GMT' }, 10_000],
    [{ 'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
    [{ 'retry-after-ms': 'x', 'retry-after': '9' }, 9000],
  ]
  for (const [headers, expected] of cases)
    t.equal(retryAfter(headers as Record<string, unknown>, now), expected, JSON.stringify(headers))
})

t.test('it waits for headers and for events, not for bytes', async t => {
  const silent = await serve(t, () => {})
  t.strictSame((await send(silent.url, { headerTimeoutMs: 50 })).failure, {
    kind: 'timeout',
    message: 'no response headers within 50 ms',
  })
  const stalled = await serve(t, (_, response) => stream(response, 'data: 1\n\n'))
  t.strictSame(await send(stalled.url, { idleTimeoutMs: 50 }), {
    failure: { kind: 'timeout', message: 'idle timeout waiting for SSE' },
    events: ['1'],
  })
  const timers = new Set<NodeJS.Timeout>()
  t.teardown(() => timers.forEach(clearInterval))
  const drip = await serve(t, (_, response) => {
    stream(response)
    timers.add(setInterval(() => response.write('d'), 5))
  })
  t.match((await send(drip.url, { idleTimeoutMs: 100 })).failure, { kind: 'timeout' })
  const heartbeat = await serve(t, (_, response) => {
    stream(response)
    let left = 80
    const timer = setInterval(() => {
      if (left-- > 0) return response.write(': still in the queue\n\n')
      clearInterval(timer)
      return response.end('data: at last\n\n')
    }, 10)
    timers.add(timer)
  })
  t.strictSame(await send(heartbeat.url, { idleTimeoutMs: 400 }), { failure: null, events: ['at last'] })
})

t.test('it stops at once when it is aborted, and the server notices', async t => {
  const closed: Promise<unknown>[] = []
  const server = await serve(t, (request, response) => {
    closed.push(once(response, 'close'))
    if (request.url === '/silent') return
    stream(response, 'data: 1\n\n')
  })
  const aborted: ModelFailure = { kind: 'aborted', message: 'the request was aborted' }
  t.strictSame(await send(server.url, { signal: AbortSignal.abort() }), { failure: aborted, events: [] })
  t.equal(server.connections(), 0)
  for (const path of ['/silent', '/stream']) {
    const abort = new AbortController()
    const sent = send(new URL(path, server.url), { signal: abort.signal })
    const before = closed.length
    while (closed.length === before) await new Promise(done => setImmediate(done))
    abort.abort(new Error('user'))
    t.strictSame((await sent).failure, aborted)
    await closed.at(-1)
  }
  const abort = new AbortController()
  const events: string[] = []
  const within = await post(
    { url: server.url, headers: {}, body: '{}', headerTimeoutMs: 5_000, idleTimeoutMs: 5_000, env: {} },
    data => {
      events.push(data)
      abort.abort()
      return false
    },
    abort.signal,
  )
  t.strictSame([within, events], [aborted, ['1']], 'aborted by what an event caused')
})

t.test('it rejects when the reader of its events throws', async t => {
  const { url } = await serve(t, (_, response) => stream(response, 'data: 1\n\n'))
  const request: Post = { url, headers: {}, body: '{}', headerTimeoutMs: 5_000, idleTimeoutMs: 5_000, env: {} }
  const thrown = new Error('a bug')
  await t.rejects(
    post(
      request,
      () => {
        throw thrown
      },
      new AbortController().signal,
    ),
    thrown,
  )
})

t.test('it lets others run while a burst comes in', async t => {
  const events = 200
  const { url } = await serve(t, (_, response) => {
    stream(response, `data: ${'x'.repeat(4000)}\n\n`.repeat(events))
    response.end()
  })
  let run = 0
  let longest = 0
  let seen = 0
  let going = true
  const breathe = (): void => {
    run = 0
    if (going) setImmediate(breathe)
  }
  breathe()
  const slow = (): boolean => {
    const until = performance.now() + 1
    while (performance.now() < until);
    seen++
    longest = Math.max(longest, ++run)
    return false
  }
  const request: Post = { url, headers: {}, body: '{}', headerTimeoutMs: 5_000, idleTimeoutMs: 5_000, env: {} }
  t.equal(await post(request, slow, new AbortController().signal), null)
  going = false
  t.equal(seen, events)
  t.ok(longest <= 30, `${longest} events of a millisecond each in one turn of the event loop`)
})

t.test('it refuses an event that is too large before it is parsed', async t => {
  const { url } = await serve(t, (_, response) => {
    stream(response, 'data: 1\n\n', 'data: ')
    const piece = 'x'.repeat(256 * 1024)
    let left = 17 * 4
    const more = (): void => {
      if (!response.destroyed && left-- > 0) response.write(piece, more)
    }
    more()
  })
  t.strictSame(await send(url), {
    failure: { kind: 'tooLarge', message: 'one event is larger than 16777216 characters' },
    events: ['1'],
  })
})

t.test('it refuses a response that is too large', t => {
  const reader = new EventReader(() => {})
  const chunk = `data: ${'x'.repeat(2 ** 20 - 8)}\n\n`
  for (let n = 0; n < 256; n++) reader.feed(chunk)
  t.equal(reader.problem, undefined)
  t.equal(reader.feed('data: 1\n\n'), false)
  t.equal(reader.problem, 'the response is larger than 268435456 characters')
  t.end()
})

/** A proxy that leads every name to `port`; `refuse` makes it answer so instead. */
async function proxy(t: { teardown(step: () => void): void }, port: number, refuse?: string) {
  const asked: object[] = []
  const server = createServer()
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push({ target: request.url, auth: request.headers['proxy-authorization'] })
    socket.on('error', () => {})
    if (refuse) return socket.end(`HTTP/1.1 ${refuse}\r\n\r\n`)
    const far = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      far.pipe(socket).pipe(far)
    })
    far.on('error', () => socket.destroy())
    socket.on('close', () => far.destroy())
  })
  return { ...(await listen(t, server)), asked }
}

t.test('it goes through the proxy that the environment names, in a tunnel that it keeps', async t => {
  const model = await serve(t, (_, response) => {
    stream(response, 'data: far\n\n')
    response.end()
  })
  const { port, asked } = await proxy(t, model.port)
  const url = new URL('http://model.test/v1')
  const env = { HTTP_PROXY: `http://me:p%40ss@127.0.0.1:${port}` }
  for (let n = 0; n < 3; n++) t.strictSame(await send(url, { env }), { failure: null, events: ['far'] })
  t.strictSame(asked, [{ target: 'model.test:80', auth: `Basic ${Buffer.from('me:p@ss').toString('base64')}` }])

  const closed = await proxy(t, model.port, '407 Proxy Authentication Required')
  t.match((await send(url, { env: { http_proxy: `127.0.0.1:${closed.port}` } })).failure, {
    kind: 'network',
    message:
      'error sending request for url (http://model.test/v1): the proxy answered 407 Proxy Authentication Required',
  })
  t.match((await send(url, { env: { ALL_PROXY: 'socks5://127.0.0.1:1' } })).failure, {
    kind: 'network',
    message: /proxies of the kind socks5:\/\/ are not supported/,
  })
  t.match((await send(url, { env: { HTTP_PROXY: '://' } })).failure, { kind: 'network', code: 'ERR_INVALID_URL' })
})

t.test('it talks TLS, directly and through a proxy', async t => {
  // The test's certificate is signed by nobody.
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  const model = await listen(
    t,
    createSecureServer({ key: KEY, cert: CERTIFICATE }, (_, response) => {
      stream(response, 'data: safe\n\n')
      response.end()
    }),
  )
  const direct = new URL(`https://127.0.0.1:${model.port}/v1`)
  for (let n = 0; n < 2; n++) t.strictSame(await send(direct), { failure: null, events: ['safe'] })
  t.equal(model.connections(), 1)
  const { port, asked } = await proxy(t, model.port)
  const env = { HTTPS_PROXY: `http://127.0.0.1:${port}` }
  for (let n = 0; n < 2; n++) {
    t.strictSame(await send(new URL('https://model.test/v1'), { env }), { failure: null, events: ['safe'] })
  }
  t.strictSame(asked, [{ target: 'model.test:443', auth: undefined }])
})

t.test('it asks a configured model with its key, headers and parameters', async t => {
  const seen: object[] = []
  const bodies: Record<string, readonly object[]> = {
    '/v1/responses': [
      { type: 'response.output_item.done', item: { type: 'message', content: [{ type: 'output_text', text: 'hi' }] } },
      { type: 'response.completed', response: {} },
    ],
    '/v1/chat/completions': [{ choices: [{ delta: { content: 'hi' }, finish_reason: 'stop' }] }],
  }
  const { url } = await serve(t, async (request, response) => {
    const { authorization, 'x-static': fixed, 'x-env': fromEnv, 'x-unset': unset } = request.headers
    const { model } = JSON.parse(await bodyOf(request)) as { model: string }
    seen.push({ url: request.url, authorization, fixed, fromEnv, unset, model })
    const events = bodies[new URL(request.url ?? '', url).pathname] ?? []
    stream(response, ...events.map(event => `data: ${JSON.stringify(event)}\n\n`))
    response.end()
  })
  const config = (wire_api: string, more: object = {}): ModelConfig => ({
    model: 'm',
    modelProvider: 'mine',
    modelProviders: { mine: { base_url: `${url.origin}/v1/`, wire_api, env_key: 'MY_KEY', ...more } },
    contextWindow: null,
    verbosity: null,
  })
  const answer = async (from: ModelConfig, env: NodeJS.ProcessEnv): Promise<readonly ModelEvent[]> => {
    const { model } = await new Models(env).open({ model: 'm', provider: 'mine' }, from)
    const events: ModelEvent[] = []
    await model.stream(ask(), event => void events.push(event), new AbortController().signal)
    return events
  }
  const more = {
    http_headers: { 'x-static': 'a' },
    env_http_headers: { 'x-env': 'MY_HEADER', 'x-unset': 'MY_UNSET' },
    query_params: { 'api-version': '2026' },
  }
  const env = { MY_KEY: ' k\n', MY_HEADER: 'b' }
  const said: readonly ModelEvent[] = [
    { type: 'item.start', index: 0, item: { type: 'text', id: null, phase: null } },
    { type: 'item.end', index: 0, item: { type: 'text', id: null, text: 'hi', phase: null } },
    { type: 'finish', reason: 'stop', usage: null },
  ]
  t.strictSame(await answer(config('responses', more), env), said)
  const streamed = await answer(config('chat'), { MY_KEY: 'k' })
  t.strictSame(streamed, [said[0], { type: 'text', index: 0, delta: 'hi' }, said[1], said[2]])
  t.strictSame(await answer(config('responses'), { MY_KEY: '' }), [
    {
      type: 'error',
      error: {
        kind: 'failed',
        code: 'missing_key',
        message: 'Missing environment variable: `MY_KEY`. The model provider mine needs it.',
      },
    },
  ])
  const plain = { authorization: 'Bearer k', model: 'm' }
  t.strictSame(seen, [
    { ...plain, url: '/v1/responses?api-version=2026', fixed: 'a', fromEnv: 'b', unset: undefined },
    { ...plain, url: '/v1/chat/completions', fixed: undefined, fromEnv: undefined, unset: undefined },
  ])
})

t.test('it chooses a proxy as curl does, and never for this machine', t => {
  const env = {
    http_proxy: 'http://low',
    HTTP_PROXY: 'http://high',
    HTTPS_PROXY: 'secure:8080',
    NO_PROXY: 'a.test, .b.test c.test:8443 *.d.test',
  }
  const cases: readonly [string, NodeJS.ProcessEnv, string | undefined][] = [
    ['http://x.test/', env, 'http://low/'],
    ['https://x.test/', env, 'http://secure:8080/'],
    ['http://a.test/', env, undefined],
    ['http://sub.a.test/', env, undefined],
    ['http://nota.test/', env, 'http://low/'],
    ['http://b.test/', env, undefined],
    ['https://c.test/', env, 'http://secure:8080/'],
    ['https://c.test:8443/', env, undefined],
    ['http://x.d.test/', env, undefined],
    ['http://x.test/', { HTTP_PROXY: 'http://p', NO_PROXY: '*' }, undefined],
    ['https://x.test/', { ALL_PROXY: 'http://all' }, 'http://all/'],
    ['https://x.test/', { HTTPS_PROXY: '' }, undefined],
    ['http://127.0.0.1:11434/', env, undefined],
    ['http://localhost/', env, undefined],
    ['http://[::1]:8080/', env, undefined],
    ['http://x.test/', {}, undefined],
  ]
  for (const [url, vars, expected] of cases) t.equal(proxyFor(new URL(url), vars)?.href, expected, url)
  t.end()
})

/** For this test alone. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkFyo223zTwaaSrQg
w8Jaga6gjyUktnZuHEj3cYeEEKOhRANCAASylEoP3ushHqd4ad02E04JQEgfFNw0
Ue5+WWD5QRTnhWhgkGJQRDZoV1xMAST5vLojojBAKRtLfo4QqlZwg7Be
-----END PRIVATE KEY-----`
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBlzCCAT6gAwIBAgIUfhgKiBdkzNBl3Ec4ODH6PuTIpOgwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKbW9kZWwudGVzdDAgFw0yNjExMzAxODE2NDFaGA8yMTI2MTEw
NjE4MTY0MVowFTETMBEGA1UEAwwKbW9kZWwudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABLKUSg/e6yEep3hp3TYTTglASB8U3DRR7n5ZYPlBFOeFaGCQYlBE
NmhXXEwBJPm8uiOiMEApG0t+jhCqVnCDsF6jajBoMB0GA1UdDgQWBBSvBS986TP0
49FZy2skLpiyntoBDTAfBgNVHSMEGDAWgBSvBS986TP049FZy2skLpiyntoBDTAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCm1vZGVsLnRlc3QwCgYIKoZIzj0E
AwIDRwAwRAIgKOutTrToQ7W+lQhRWHVSV0NNnlOznBSzwHy6BvJ4TCgCIEYqepE0
5irNe90zhHSv6L4L3p7TlVcNE5RFFvxTn1Nn
-----END CERTIFICATE-----`
