import t from 'tap'
import { CodexDialect, type Rows } from '../../src/codex/dialect.ts'
import { claimedVersion, readHandshake } from '../../src/codex/handshake.ts'
import { RpcError } from '../../src/rpc/error.ts'
import { Server } from '../../src/server/server.ts'
import { connectTo } from '../support/peer.ts'

const refused = (message: string) => ({ code: -32600, message })

t.test('it reads a handshake in codex words', async t => {
  const cases: [unknown, string][] = [
    [undefined, 'Invalid request: missing field `params`'],
    [{}, 'Invalid request: missing field `clientInfo`'],
    [{ clientInfo: { name: 'x' } }, 'Invalid request: missing field `version`'],
    [{ clientInfo: { name: 5, version: '1' } }, 'Invalid request: invalid type: integer `5`, expected a string'],
    [
      { clientInfo: { name: 'x', version: '1' }, capabilities: { experimentalApi: 'yes' } },
      'Invalid request: invalid type: string "yes", expected a boolean',
    ],
    [
      { clientInfo: { name: 'bad\nname', version: '1' } },
      "Invalid clientInfo.name: 'bad\nname'. Must be a valid HTTP header value.",
    ],
  ]
  for (const [params, message] of cases) t.throws(() => readHandshake(params), refused(message), message)
  t.strictSame(readHandshake({ clientInfo: { name: '', title: null, version: '' }, capabilities: null }), {
    client: { name: '', title: null, version: '' },
    experimental: false,
    optOut: [],
  })
})

t.test('it claims the version of a pinned codex client, else the newest pin, unless it is set', async t => {
  const claim = (name: string, version: string, setting = 'auto') =>
    claimedVersion({ name, title: null, version }, setting)
  t.equal(claim('codex-tui', '0.142.5'), '0.142.5')
  t.equal(claim('codex_exec', '0.171.0'), '0.171.0')
  t.equal(claim('codex-tui', '0.200.0'), '0.171.0')
  t.equal(claim('golden', '0.142.5'), '0.171.0')
  t.equal(claim('codex-tui', '0.142.5', '9.9.9'), '9.9.9')
})

/** A dialect whose rows are loaded when `ready` resolves. */
function late(ready: Promise<void>): { readonly server: Server; readonly dialect: CodexDialect } {
  const server = new Server({ attendance() {}, answer() {}, report() {} })
  const rows: Rows = {
    admit: ({ method, params }) => ({ lane: null, handle: () => ({ method, params }) }),
    project: () => undefined,
    failure: error => (error instanceof RpcError ? error : new RpcError(-32603, String(error))),
    welcome() {},
  }
  const dialect = new CodexDialect({
    identity: () => ({ codexVersion: 'auto', home: '/home/me/.skein', env: { TERM: 'xterm' } }),
    load: () => ready.then(() => rows),
    join: session => server.hub.join(session),
  })
  return { server, dialect }
}

t.test('it answers initialize before anything else is loaded, and what comes behind it in order', async t => {
  let open = (): void => {}
  const { server, dialect } = late(new Promise(resolve => (open = resolve)))
  const peer = connectTo(server, dialect)
  t.strictSame(await peer.ask('thread/list', {}), { error: { code: -32000, message: 'Not initialized' } })
  const first = peer.ask('initialize', { clientInfo: { name: 'me', version: '1.2' } })
  const answers: unknown[] = []
  const later = ['one', 'two', 'three'].map(method => peer.ask(method, {}).then(answer => answers.push(answer)))
  t.match(await first, {
    result: {
      userAgent: /^me\/0\.171\.0 \(.+; .+\) xterm \(me; 1\.2\)$/,
      codexHome: '/home/me/.skein',
      platformFamily: 'unix',
    },
  })
  t.strictSame(answers, [])
  open()
  await Promise.all(later)
  t.strictSame(answers, [
    { result: { method: 'one', params: {} } },
    { result: { method: 'two', params: {} } },
    { result: { method: 'three', params: {} } },
  ])
  t.strictSame(await peer.ask('initialize', {}), { error: { code: -32000, message: 'Already initialized' } })
  await peer.close()
})

t.test('it lets a refused handshake be tried again', async t => {
  const { server, dialect } = late(Promise.resolve())
  const peer = connectTo(server, dialect)
  t.match(await peer.ask('initialize', {}), { error: { code: -32600 } })
  t.match(await peer.ask('initialize', { clientInfo: { name: 'x', version: '1' } }), { result: {} })
  await peer.close()
})

t.test('it tells every waiting request when loading fails', async t => {
  const { server, dialect } = late(Promise.reject(new Error('no engine today')))
  const peer = connectTo(server, dialect)
  await peer.ask('initialize', { clientInfo: { name: 'x', version: '1' } })
  t.strictSame(await peer.ask('thread/list', {}), { error: { code: -32603, message: 'no engine today' } })
  await peer.close()
})
