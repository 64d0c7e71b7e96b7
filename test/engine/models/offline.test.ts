import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { modelInfo } from '../../../src/engine/models/catalogue.ts'
import { OFFLINE_MODEL } from '../../../src/engine/models/catalogue-data.ts'
import type { ContextEntry, ModelEvent, ModelRequest } from '../../../src/engine/models/model.ts'
import { OfflineModel } from '../../../src/engine/models/offline.ts'
import { readScript } from '../../../src/engine/models/offline-script.ts'
import { PRESETS } from '../../../src/engine/models/provider.ts'
import { call, deltas, developer, ended, request, result, user } from './support.ts'

const offline = PRESETS.find(({ id }) => id === 'offline')!
const model = new OfflineModel(modelInfo(offline, OFFLINE_MODEL.id, null), null)

async function ask(
  prompt: string | readonly ContextEntry[],
  more: Partial<ModelRequest> = {},
): Promise<readonly ModelEvent[]> {
  const context = typeof prompt === 'string' ? [user(prompt)] : prompt
  const events: ModelEvent[] = []
  await model.stream(request({ context, ...more }), event => void events.push(event), new AbortController().signal)
  return events
}

/** What a whole turn says and calls when each call is answered with `ok`: one list a response. */
async function turn(prompt: string): Promise<readonly (readonly string[])[]> {
  const context: ContextEntry[] = [user(prompt)]
  const responses: string[][] = []
  for (let n = 0; n < 10; n++) {
    const events = await ask(context)
    const items = ended(events)
    const last = events.at(-1)
    responses.push([
      ...items.map(item =>
        item.type === 'call' ? `${item.name} ${item.args}` : item.type === 'text' ? item.text : item.type,
      ),
      ...(last?.type === 'error' ? [`${last.error.kind}: ${last.error.message}`] : []),
    ])
    const calls = items.filter(item => item.type === 'call')
    if (calls.length === 0) return responses
    context.push(...calls.map(({ id, name, args, freeform }) => call(id, { name, args, freeform })))
    context.push(...calls.map(({ id, name }) => result(id, 'ok', { name })))
  }
  throw new Error('the script does not end')
}

const said = (events: readonly ModelEvent[]): string => deltas(events, 'text')
const finishOf = (events: readonly ModelEvent[]) => events.at(-1)

t.test('it introduces itself to who gives it no script', async t => {
  const hint =
    "This is Skein's offline model. It needs no key and no network, and does what directives in your message say (try `say: hello` or `run: ls`)."
  t.equal(said(await ask('What is this?')), `${hint} You said: What is this?`)
  t.equal(said(await ask('')), `${hint} You said nothing.`)
  t.equal(said(await ask([])), `${hint} You said nothing.`)
  t.equal(said(await ask('x'.repeat(1000))), `${hint} You said: ${'x'.repeat(400)}...`)
  t.equal(said(await ask('Fix this: the bug, and say nothing')), `${hint} You said: Fix this: the bug, and say nothing`)
})

t.test('it streams what it says word by word', async t => {
  t.strictSame(await ask('say: hello big world'), [
    { type: 'start', responseId: null, model: 'offline' },
    { type: 'item.start', index: 0, item: { type: 'text', id: null, phase: null } },
    { type: 'text', index: 0, delta: 'hello ' },
    { type: 'text', index: 0, delta: 'big ' },
    { type: 'text', index: 0, delta: 'world' },
    { type: 'item.end', index: 0, item: { type: 'text', id: null, text: 'hello big world', phase: null } },
    {
      type: 'finish',
      reason: 'stop',
      usage: { input: 6, cached: 0, cacheWrite: 0, output: 4, reasoning: 0, total: 10 },
    },
  ])
})

t.test('it thinks, says and counts in order', async t => {
  const events = await ask('Some prose first.\nthink: hm, well\nsay: one\\ntwo\r\nstream: 3\nstream: 2 5\nusage: 100 7')
  t.strictSame(events.slice(1, -1), [
    { type: 'item.start', index: 0, item: { type: 'reasoning', id: null } },
    { type: 'summary.part', index: 0, part: 0 },
    { type: 'summary', index: 0, part: 0, delta: 'hm, ' },
    { type: 'summary', index: 0, part: 0, delta: 'well' },
    {
      type: 'item.end',
      index: 0,
      item: { type: 'reasoning', id: null, summary: ['hm, well'], content: [], opaque: {} },
    },
    { type: 'item.start', index: 1, item: { type: 'text', id: null, phase: null } },
    { type: 'text', index: 1, delta: 'one\ntwo' },
    { type: 'item.end', index: 1, item: { type: 'text', id: null, text: 'one\ntwo', phase: null } },
    { type: 'item.start', index: 2, item: { type: 'text', id: null, phase: null } },
    ...['1 ', '2 ', '3 '].map(delta => ({ type: 'text', index: 2, delta }) as const),
    { type: 'item.end', index: 2, item: { type: 'text', id: null, text: '1 2 3 ', phase: null } },
    { type: 'item.start', index: 3, item: { type: 'text', id: null, phase: null } },
    ...['1 xxx', '2 xxx'].map(delta => ({ type: 'text', index: 3, delta }) as const),
    { type: 'item.end', index: 3, item: { type: 'text', id: null, text: '1 xxx2 xxx', phase: null } },
  ])
  t.strictSame(finishOf(events), {
    type: 'finish',
    reason: 'stop',
    usage: { input: 100, cached: 0, cacheWrite: 0, output: 7, reasoning: 2, total: 107 },
  })
})

t.test('it calls tools, one response after the other, and sums up what nobody told', async t => {
  const patch = '*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch'
  const plan = {
    plan: [
      { step: 'one', status: 'completed' },
      { step: 'two', status: 'in_progress' },
      { step: 'three', status: 'pending' },
    ],
  }
  t.strictSame(await turn('run: echo hi'), [['exec_command {"cmd":"echo hi"}'], ['Done. exec_command: ok']])
  t.strictSame(await turn('say: first\nrun: a\nrun: b\nsay: last'), [
    ['first', 'exec_command {"cmd":"a"}'],
    ['exec_command {"cmd":"b"}'],
    ['last'],
  ])
  t.strictSame(await turn('run: a\nand run: b\nand plan: +one; *two; three\nrun: c'), [
    ['exec_command {"cmd":"a"}', 'exec_command {"cmd":"b"}', `update_plan ${JSON.stringify(plan)}`],
    ['exec_command {"cmd":"c"}'],
    ['Done. exec_command: ok; exec_command: ok; update_plan: ok; exec_command: ok'],
  ])
  t.strictSame(await turn('patch:\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n\nsay: patched'), [
    [`apply_patch ${patch}`],
    ['patched'],
  ])
  t.strictSame(await turn('patch:\n*** Add File: a.txt\n+x\nend\nsay: patched'), [
    [`apply_patch ${patch}`],
    ['patched'],
  ])
  t.strictSame(await turn('patch:\n*** Add File: a.txt\n+x'), [[`apply_patch ${patch}`], ['Done. apply_patch: ok']])
  t.strictSame(await turn('write: a.txt = x\nthink: done'), [
    [`apply_patch ${patch}`],
    ['reasoning', 'Done. apply_patch: ok'],
  ])
  t.strictSame(await turn('call: view_image {"path":"a.png"}\ncall: noargs'), [
    ['view_image {"path":"a.png"}'],
    ['noargs {}'],
    ['Done. view_image: ok; noargs: ok'],
  ])
  const justification = 'The script asks to run this outside the sandbox.'
  t.strictSame(await turn('ask-run: touch /x'), [
    [`exec_command ${JSON.stringify({ cmd: 'touch /x', sandbox_permissions: 'require_escalated', justification })}`],
    ['Done. exec_command: ok'],
  ])
})

t.test('it makes calls that fit the tools it is offered', async t => {
  const first = async (prompt: string, tools: ModelRequest['tools']) => {
    const item = ended(await ask(prompt, { tools }))[0]
    return item?.type === 'call' ? [item.namespace, item.name, item.args, item.freeform] : item
  }
  const fn = (name: string, more: object = {}) => ({ name, description: '', parameters: {}, ...more })
  const free = { name: 'apply_patch', description: '', grammar: 'g' }
  t.strictSame(await first('run: ls', [fn('shell_command')]), [null, 'shell_command', '{"command":"ls"}', false])
  t.strictSame(await first('run: ls', [fn('shell_command'), fn('exec_command')]), [
    null,
    'exec_command',
    '{"cmd":"ls"}',
    false,
  ])
  t.strictSame(await first('write: a = b', [fn('apply_patch')]), [
    null,
    'apply_patch',
    JSON.stringify({ input: '*** Begin Patch\n*** Add File: a\n+b\n*** End Patch' }),
    false,
  ])
  t.strictSame(await first('call: apply_patch raw', [free]), [null, 'apply_patch', 'raw', true])
  t.strictSame(await first('call: web/open {"u":1}', [fn('open', { namespace: 'web' })]), [
    'web',
    'open',
    '{"u":1}',
    false,
  ])
})

t.test('it goes by the last message of the user and the results after it', async t => {
  const context = [
    developer('rules'),
    user('# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nsay: no\n</INSTRUCTIONS>'),
    user('run: a'),
    call('c1'),
    result('c1', 'old'),
    user('run: b\nsay: done'),
    user('<environment_context>\n<cwd>/x</cwd>\n</environment_context>'),
    call('c2'),
    result('c2', 'new'),
  ]
  t.equal(said(await ask(context)), 'done')
  t.equal(said(await ask([...context, user('say: steered')])), 'steered')
  t.match(said(await ask([...context, user('stop please')])), /You said: stop please$/)
  const exec = 'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfirst line\nsecond\n'
  t.equal(said(await ask([user('run: a'), call('c'), result('c', exec)])), 'Done. exec_command: first line second')
  t.equal(said(await ask([user('run: a'), call('c'), result('c', '')])), 'Done. exec_command: no output')
  t.equal(
    said(await ask([user('run: a'), call('c'), result('c', 'y'.repeat(999))])),
    `Done. exec_command: ${'y'.repeat(200)}...`,
  )
})

t.test('it gives the same request the same events, and every request its own call ids', async t => {
  const prompt = 'run: a\nand run: b'
  const ids = (events: readonly ModelEvent[]) => ended(events).map(item => (item.type === 'call' ? item.id : ''))
  const first = await ask(prompt)
  t.strictSame(await ask(prompt), first)
  const other = await ask(prompt, { cacheKey: 'thread-2' })
  const later = await ask([user('run: x'), user(prompt)])
  t.equal(new Set([...ids(first), ...ids(other), ...ids(later)]).size, 6)
})

t.test('it fails as it is told', async t => {
  t.strictSame(await turn('say: part\nfail: server_error model broke'), [['part', 'failed: model broke']])
  t.strictSame(finishOf(await ask('fail: context_length_exceeded')), {
    type: 'error',
    error: { kind: 'failed', code: 'context_length_exceeded', message: 'context_length_exceeded' },
  })
  t.strictSame(finishOf(await ask('fail-http: 503 server_is_overloaded')), {
    type: 'error',
    error: {
      kind: 'http',
      status: 503,
      statusText: 'Service Unavailable',
      code: 'server_is_overloaded',
      message: 'offline failure 503',
      body: '{"error":{"message":"offline failure 503","type":"offline","code":"server_is_overloaded"}}',
      url: 'offline:',
    },
  })
  const cut = await ask('say: half a\ncut:')
  t.strictSame(cut.slice(2), [
    { type: 'text', index: 0, delta: 'half ' },
    { type: 'text', index: 0, delta: 'a' },
    {
      type: 'error',
      error: {
        kind: 'network',
        code: 'ECONNRESET',
        message: 'Transport error: network error: error decoding response body',
      },
    },
  ])
  t.strictSame(await turn('run: a\ncut:'), [
    ['exec_command {"cmd":"a"}'],
    ['network: Transport error: network error: error decoding response body'],
  ])
})

t.test('it says which line of a script is wrong', async t => {
  const cases: readonly [string, string][] = [
    ['say: a\nstream: many', 'line 2: stream: wants a number of deltas, and may have their size in bytes'],
    ['stream: 9999999', 'line 1: stream: that is too much (1000000 deltas, 64 MiB)'],
    ['stream: 1000 1000000', 'line 1: stream: that is too much (1000000 deltas, 64 MiB)'],
    ['patch:\n\nsay: x', 'line 1: patch: wants the lines of a patch below it'],
    ['write: a.txt', 'line 1: write: wants PATH = TEXT'],
    ['call:', 'line 1: call: wants the name of a tool and its arguments'],
    ['fail:', 'line 1: fail: wants a code, and may have a message'],
    ['fail-http: 200', 'line 1: fail-http: wants a status from 300 to 599, and may have a code'],
    ['slow: soon', 'line 1: slow: wants milliseconds'],
    ['usage: 5', 'line 1: usage: wants tokens in and tokens out'],
    ['and say: x', 'line 1: only calls of tools can be joined with "and"'],
  ]
  for (const [script, problem] of cases) {
    t.strictSame(finishOf(await ask(script)), {
      type: 'error',
      error: { kind: 'failed', code: 'invalid_prompt', message: `offline model: ${problem}` },
    })
  }
})

t.test('it answers a schema with a value of it, and calls nothing', async t => {
  const answer = async (schema: unknown, prompt = 'Name this:\nrun: fix the tests') =>
    JSON.parse(said(await ask(prompt, { outputSchema: schema }))) as unknown
  const title = {
    type: 'object',
    properties: { title: { type: 'string', maxLength: 7 }, n: { type: ['integer', 'null'], minimum: 2 } },
  }
  t.strictSame(await answer(title), { title: 'run: fi', n: 2 })
  t.strictSame(
    await answer({
      type: 'object',
      properties: {
        a: { enum: ['x', 'y'] },
        b: { const: 5 },
        c: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
        d: { type: 'array', items: { $ref: '#/$defs/e' }, minItems: 1 },
        f: { type: 'null' },
      },
      $defs: { e: { type: 'number' } },
    }),
    { a: 'x', b: 5, c: false, d: [0], f: null },
  )
  t.strictSame(await answer(true), {})
  t.doesNotThrow(() => answer({ $ref: '#' }))
  t.strictSame(await answer({ $ref: '#/__proto__/x' }), {})
})

t.test('it waits where it is slow, and stops at once', async t => {
  t.equal(said(await ask('slow: 1\nsay: a b c')), 'a b c')
  t.equal(said(await ask('say: a\nslow: 1')), 'a')
  const events: ModelEvent[] = []
  const abort = new AbortController()
  const streaming = model.stream(
    request({ context: [user('say: at once\nslow: 9999999\nsay: never')] }),
    event => {
      events.push(event)
      if (event.type === 'item.start' && event.index === 1) setImmediate(() => abort.abort())
    },
    abort.signal,
  )
  await streaming
  t.strictSame(events.slice(-2), [
    { type: 'item.start', index: 1, item: { type: 'text', id: null, phase: null } },
    { type: 'error', error: { kind: 'aborted', message: 'the request was aborted' } },
  ])
  const before: ModelEvent[] = []
  await model.stream(request(), event => void before.push(event), AbortSignal.abort())
  t.strictSame(before, [{ type: 'error', error: { kind: 'aborted', message: 'the request was aborted' } }])
})

t.test('it lets others run while it streams very much', async t => {
  let breaths = 0
  let running = true
  const count = (): void => {
    breaths++
    if (running) setImmediate(count)
  }
  setImmediate(count)
  const events = await ask('stream: 20000')
  running = false
  t.equal(events.filter(event => event.type === 'text').length, 20_000)
  t.ok(breaths >= 90, 'one breath each 200 deltas')
})

t.test('it does what its documentation shows', async t => {
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/offline-model.md'), 'utf8')
  const examples = [...docs.matchAll(/^```text\n([\s\S]*?)^```/gm)].map(match => match[1] ?? '')
  const names = [...docs.matchAll(/^### `([a-z-]+):/gm)].map(match => match[1] ?? '')
  t.equal(names.length, 14)
  for (const name of names)
    t.ok(
      examples.some(example => new RegExp(`^(and )?${name}:`, 'm').test(example)),
      `an example of ${name}`,
    )
  for (const example of examples) t.match(readScript(example), [{}], example)
  t.strictSame(await turn(examples[0] ?? ''), [
    ['reasoning', 'Let me see what is here.', 'exec_command {"cmd":"ls"}'],
    ['That is all there is.'],
  ])
})

t.test('it takes the script from a file when the file has one for the message', async t => {
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/offline-model.md'), 'utf8')
  const path = join(t.testdir({ 'scripts.txt': /^```scripts\n([\s\S]*?)^```/m.exec(docs)?.[1] ?? '' }), 'scripts.txt')
  const say = async (prompt: string, file = path): Promise<string> => {
    const context = [user(prompt)]
    const events: ModelEvent[] = []
    const scripted = new OfflineModel(model.info, file)
    await scripted.stream(request({ context }), event => void events.push(event), new AbortController().signal)
    const last = events.at(-1)
    const calls = ended(events).flatMap(item => (item.type === 'call' ? [item.args] : []))
    return last?.type === 'error' ? last.error.message : said(events) + calls.join()
  }
  t.equal(await say('oh, hello there\nsay: not this'), 'Hello to you.')
  t.equal(await say('Please fix the bug.'), '{"cmd":"echo fixed > bug.txt"}')
  t.equal(await say('say: my own script'), 'my own script')
  t.match(await say('Hello'), /^This is Skein's offline model/)
  const write = (text: string): string => {
    writeFileSync(path, text)
    return path
  }
  t.equal(await say('anything', write('say: no heading\r\nuser: \r\nsay: all of them\r\nuser: x\r\n')), 'all of them')
  t.equal(await say('anything', write('user:\nsay: once\nuser:\nsay: twice')), 'once')
  t.match(await say('anything', write('')), /^This is Skein's offline model/)
  t.equal(await say('a', write('user: a\nslow: x')), 'offline model: line 1: slow: wants milliseconds')
  t.equal(
    await say('a', write('x'.repeat(1024 * 1024 + 1))),
    `offline model: the script file ${path} is larger than 1048576 bytes`,
  )
  t.equal(
    await say('a', join(path, '..')),
    `offline model: the script file ${join(path, '..')} cannot be read: not a regular file`,
  )
  t.equal(await say('a', `${path}.gone`), `offline model: there is no script file ${path}.gone`)
})
