import t from 'tap'
import { fromClient, fromServer } from '../../qa/clients/rules.ts'
import { createStrict } from '../../qa/conformance/strict.ts'
import { ExampleError, readExamples } from '../../qa/docs/examples.ts'
import { Meanings } from '../../qa/docs/shape.ts'
import { readOptions, wanted } from '../../qa/kit/options.ts'
import { Verdicts } from '../../qa/kit/verdicts.ts'
import { Witness } from '../../qa/kit/witness.ts'
import { stepFor } from '../../qa/mock/directives.ts'
import { readCall } from '../../qa/mock/request.ts'
import { readStories } from '../../qa/replay.ts'

t.test('verdicts', async t => {
  const lines: string[] = []
  const verdicts = new Verdicts(line => lines.push(line))
  verdicts.ok('one')
  verdicts.fail('two', 'reason\nmore', 'details')
  await verdicts.check('three', () => {
    throw new Error('boom')
  })
  verdicts.note('by the way')
  t.equal(verdicts.total(), 1, 'a failure is an exit code')
  t.strictSame(lines, [
    'ok one',
    'FAIL two: reason',
    '    more',
    '    details',
    'FAIL three: boom',
    '# by the way',
    '1 passed, 2 failed',
  ])
  t.equal(new Verdicts(() => {}).total(), 1, 'and so is having judged nothing')
})

t.test('options', t => {
  t.test('it reads flags, lists, plain words and the command of the server', async t => {
    t.match(readOptions(['--full', '--only', 'a,b*', 'raw', '--', 'node', 'x', 'app-server'], {}), {
      full: true,
      only: ['a', 'b*'],
      rest: ['raw'],
      models: ['offline'],
      pins: ['0.142.5', '0.171.0'],
      server: ['node', 'x', 'app-server'],
    })
    t.strictSame(readOptions([], { SKEIN_QA_SERVER: '["a b","app-server"]' }).server, ['a b', 'app-server'])
    t.strictSame(readOptions([], { SKEIN_QA_SERVER: 'codex app-server' }).server, ['codex', 'app-server'])
  })

  t.test('it refuses what it does not know instead of doing everything', async t => {
    t.throws(() => readOptions(['--onyl', 'x'], {}), { message: 'unknown option --onyl' })
    t.throws(() => readOptions(['--models', 'gpt'], {}), { message: /unknown model gpt/ })
    t.throws(() => readOptions(['--only'], {}), { message: '--only needs a value' })
  })

  t.test('it takes names and prefixes', async t => {
    t.strictSame(
      [wanted('turn-text', []), wanted('turn-text', ['turn-*']), wanted('turn-text', ['turn'])],
      [true, true, false],
    )
  })
  t.end()
})

t.test('a witness', t => {
  const good = { method: 'thread/status/changed', params: { threadId: 't', status: { type: 'idle' } } }
  const pins = ['0.142.5', '0.171.0'] as const
  const watch = (): Witness => new Witness(new Map(pins.map(pin => [pin, createStrict(pin)])))

  t.test('it has nothing against a good frame and does not look at what the client sends', async t => {
    const witness = watch()
    const tap = witness.tap()
    tap('out', '{"id":1,"method":"nonsense","params":{"x":1}}')
    tap('in', JSON.stringify(good))
    t.strictSame([witness.frames, witness.violations], [1, []])
  })

  t.test('it reports a broken frame for both pins, once however often it comes', async t => {
    const witness = watch()
    const tap = witness.tap()
    for (let times = 0; times < 3; times += 1) tap('in', JSON.stringify({ ...good, params: { threadId: 't' } }))
    t.match(
      witness.violations.map(({ pin, method, times }) => ({ pin, method, times })),
      pins.map(pin => ({ pin, method: 'thread/status/changed', times: 3 })),
    )
  })

  t.test('it reports what comes of a turn after its end, a second end too, per connection', async t => {
    const witness = new Witness(new Map())
    const [one, other] = [witness.tap(), witness.tap()]
    const frame = (method: string, params: object) => JSON.stringify({ method, params })
    const end = frame('turn/completed', { threadId: 't', turn: { id: 'a' } })
    one('in', frame('turn/started', { threadId: 't', turn: { id: 'a' } }))
    one('in', frame('item/completed', { threadId: 't', turnId: 'a' }))
    one('in', frame('thread/started', {}))
    for (const tap of [one, other]) tap('in', end)
    one('in', frame('turn/started', { threadId: 't', turn: { id: 'b' } }))
    one('in', frame('thread/tokenUsage/updated', { threadId: 't', turnId: 'a' }))
    t.strictSame(witness.violations, [])
    one('in', end)
    one('in', frame('item/started', { threadId: 't', turnId: 'a' }))
    t.match(witness.violations, [{ method: 'turn/completed' }, { method: 'item/started' }])
  })

  t.test('it knows an answer by the request it was shown, per connection', async t => {
    const witness = watch()
    const [one, other] = [witness.tap(), witness.tap()]
    one('out', '{"id":"x","method":"thread/loaded/list","params":{}}')
    one('in', '{"id":"x","result":{"data":[],"nextCursor":null}}')
    t.strictSame(witness.violations, [])
    one('in', '{"id":"x","result":{"data":"none","nextCursor":null}}')
    t.equal(witness.violations.length, 2)
    other('in', '{"id":"x","result":{"data":"none"}}')
    t.equal(witness.violations.length, 2, 'another connection asked nothing')
  })

  t.test('it reports what is no JSON object', async t => {
    const witness = watch()
    const tap = witness.tap()
    tap('in', 'listening on port 1')
    tap('in', '[]')
    t.match(witness.violations, [{ pin: 'all', complaint: 'the frame is no JSON object', times: 2 }])
  })
  t.end()
})

t.test('rules of the proxy', t => {
  const request = { id: 1, method: 'turn/start', params: {} }
  const notification = { method: 'item/started', params: { a: null, b: { c: 1 } } }

  t.test('it denies, stubs and swallows requests, and nothing else', async t => {
    t.strictSame(fromClient(request, { deny: ['turn/start'] }), {
      pass: false,
      rule: 'deny',
      reply: { id: 1, error: { code: -32601, message: 'Method not found: turn/start' } },
    })
    t.strictSame(fromClient(request, { onlyAllow: ['initialize'] }).rule, 'deny')
    t.strictSame(fromClient(request, { stub: { 'turn/start': { ok: true } } }).reply, { id: 1, result: { ok: true } })
    t.strictSame(fromClient(request, { hang: ['^turn/'] }), { pass: false, rule: 'hang' })
    t.strictSame(fromClient({ method: 'turn/start' }, { deny: ['turn/start'] }), { pass: true, rule: null })
    t.strictSame(fromClient('text', { onlyAllow: [] }), { pass: true, rule: null })
  })

  t.test('it drops, delays and changes what the server sends', async t => {
    t.match(fromServer(notification, null, { drop: ['^item/'] }), { pass: false, rule: 'drop' })
    t.match(fromServer(notification, null, { delay: { 'item/started': 5 } }), { pass: true, rule: 'delay', delayMs: 5 })
    t.strictSame(fromServer(notification, null, { dropNulls: true }).frame, {
      method: 'item/started',
      params: { b: { c: 1 } },
    })
    const answer = { id: 1, result: { list: [{ x: 1 }, { x: 2 }] } }
    t.strictSame(fromServer(answer, 'm', { set: { m: { 'list.*.x': 9 } } }).frame, {
      id: 1,
      result: { list: [{ x: 9 }, { x: 9 }] },
    })
    t.strictSame(fromServer(answer, 'm', { remove: { m: ['list'] } }).frame, { id: 1, result: {} })
    t.equal(fromServer(answer, 'other', { remove: { m: ['list'] } }).frame, answer, 'another answer passes as it is')
    t.strictSame(answer.result.list, [{ x: 1 }, { x: 2 }], 'the frame itself is never touched')
  })
  t.end()
})

t.test('the mock model', t => {
  const at = (text: string, results: readonly string[] = [], tools: readonly string[] = ['exec_command']) =>
    stepFor({ text, results, tools })

  t.test('it goes through a script by the results that came', async t => {
    const script = 'think: hm\nrun: ls\nsay: seen'
    t.strictSame(at(script), { reason: ['hm'], calls: [{ name: 'exec_command', args: { cmd: 'ls' } }] })
    t.strictSame(at(script, ['files']), { say: ['seen'] })
    t.strictSame(at('run: ls', ['a b']), { say: ['done: ', 'a ', 'b'] })
  })

  t.test('it patches by whatever tool is on offer', async t => {
    const input = '*** Begin Patch\n*** Add File: a\n+b\n*** End Patch\n'
    t.strictSame(at('write: a = b', [], ['apply_patch!']), { custom: { name: 'apply_patch', input } })
    t.strictSame(at('write: a = b', [], ['apply_patch']), { calls: [{ name: 'apply_patch', args: { input } }] })
    const cmd = `apply_patch <<'EOF'\n${input.trimEnd()}\nEOF`
    t.strictSame(at('write: a = b'), { calls: [{ name: 'exec_command', args: { cmd } }] })
  })

  t.test('it takes prose for prose, even when a script is quoted in it', async t => {
    t.strictSame(at('Give this a title:\nrun: rm -rf /').calls, undefined)
  })

  t.test('it finds the last words of the person on both wires', async t => {
    const context = '<environment_context>\n  <cwd>/x</cwd>\n</environment_context>'
    const user = (text: string): object => ({ role: 'user', content: [{ type: 'input_text', text }] })
    t.strictSame(
      readCall({
        input: [user(context), user('run: ls'), { type: 'function_call_output', output: 'files' }],
        tools: [
          { type: 'custom', name: 'apply_patch' },
          { type: 'function', name: 'exec_command' },
        ],
      }),
      { text: 'run: ls', results: ['files'], tools: ['apply_patch!', 'exec_command'] },
    )
    t.strictSame(
      readCall({
        messages: [
          { role: 'user', content: `${context}\n\nrun: ls` },
          { role: 'tool', content: 'files' },
        ],
        tools: [{ type: 'function', function: { name: 'exec_command' } }],
      }),
      { text: 'run: ls', results: ['files'], tools: ['exec_command'] },
    )
    t.strictSame(readCall(null), { text: '', results: [], tools: [] })
  })
  t.end()
})

t.test('examples of documents', t => {
  const block = (head: string, json: string): string => `${head}\n\n\`\`\`json\n${json}\n\`\`\`\n`

  t.test('it reads blocks under their heads, in order, and leaves prose alone', async t => {
    const text = [
      block('Request:', '{"id":1,"method":"m","params":{"a":1}}'),
      block('Response:', '{"a":1}'),
      block('Notification:', '{"method":"n"}'),
      block('Example:', '{"method":"no example of ours"}'),
      '```json\n{"nor":"this"}\n```',
    ].join('\n')
    t.strictSame(
      readExamples('x.md', text).map(({ line: _, ...example }) => example),
      [
        { type: 'request', method: 'm', params: { a: 1 } },
        { type: 'response', message: { result: { a: 1 } } },
        { type: 'sent', message: { method: 'n' } },
      ],
    )
  })

  t.test('it refuses an example that is no JSON, no object or has no end', async t => {
    t.throws(() => readExamples('x.md', block('Request:', '{')), ExampleError)
    t.throws(() => readExamples('x.md', block('Request:', '[]')), { message: 'x.md:3: an example is an object' })
    t.throws(() => readExamples('x.md', block('Request:', '{}')), { message: 'x.md:3: a request has a method' })
    t.throws(() => readExamples('x.md', 'Request:\n```json\n{'), { message: /has no end/ })
  })

  t.test('it compares by shape: ids by meaning, moments and durations by type, folders by place', async t => {
    const meanings = new Meanings({ home: '/tmp/h', cwd: '/tmp/c' })
    const documented = '01a22daf-f16b-756e-b8af-0b6f9fa47194'
    const actual = '01a22db2-83e1-755c-9c2b-bb0642a8a1d3'
    const same = (a: unknown, b: unknown): boolean => meanings.compare(a, b) === null
    t.ok(same({ id: documented, createdAt: 1 }, { id: actual, createdAt: 2 }))
    t.ok(same({ path: `/home/me/.skein/${documented}` }, { path: `/tmp/h/${actual}` }))
    t.notOk(same({ id: documented }, { id: documented }), 'an id means one thing only')
    t.notOk(same({ createdAt: 1 }, { createdAt: 1.5 }))
    t.notOk(same({ createdAt: 1 }, { createdAt: null }))
    t.notOk(same({ name: 'a' }, { name: 'b' }))
    t.notOk(same({ a: 1 }, { a: 1, b: 2 }))
    t.notOk(same([1], [1, 2]))
    t.strictSame(meanings.fill({ threadId: documented, cwd: '/home/me/project' }), { threadId: actual, cwd: '/tmp/c' })
  })
  t.end()
})

t.test('every transcript can be read and says what it tells', async t => {
  const stories = readStories()
  t.ok(stories.length > 10)
  for (const { name, title, acts } of stories) t.ok(title !== name && acts.length > 0, name)
})
