import fc from 'fast-check'
import t from 'tap'
import { chat } from '../../../src/engine/models/chat.ts'
import type { ContextEntry, ModelEvent, ToolSpec } from '../../../src/engine/models/model.ts'
import { call, decode, deltas, developer, ended, onWire, request, result, targetOf, text, user } from './support.ts'

const local = targetOf('llama-4', { wire: 'chat' })
const chunk = (delta: object, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'mm',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const fin = (reason: string) => chunk({}, { finish_reason: reason })
const piece = (index: number | null, fields: object) =>
  chunk({ tool_calls: [{ ...(index === null ? {} : { index }), ...fields }] })
const usage = {
  id: 'c1',
  choices: [],
  usage: {
    prompt_tokens: 100,
    completion_tokens: 30,
    total_tokens: 130,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 20 },
  },
}
const tool = (name: string): ToolSpec => ({ name, description: name, parameters: { type: 'object' } })
const patch: ToolSpec = { name: 'apply_patch', description: 'patch', grammar: 'start: "x"' }
const read = (events: readonly (object | string)[], more: Parameters<typeof decode>[2] = {}) =>
  decode(chat, events, { target: local, ...more })
const calls = (events: readonly ModelEvent[]) =>
  ended(events).flatMap(item => (item.type === 'call' ? [[item.id, item.name, item.args]] : []))
const last = (events: readonly (object | string)[]) => read(events).at(-1)

const start: ModelEvent = { type: 'start', responseId: 'c1', model: 'mm' }
const finish: ModelEvent = { type: 'finish', reason: 'stop', usage: null }
const word = (index: number, delta: string): ModelEvent => ({ type: 'text', index, delta })
const opened = (index: number, type: 'text' | 'reasoning'): ModelEvent => ({
  type: 'item.start',
  index,
  item: type === 'text' ? { type, id: null, phase: null } : { type, id: null },
})
const said = (index: number, words: string): ModelEvent => ({
  type: 'item.end',
  index,
  item: { type: 'text', id: null, text: words, phase: null },
})

t.test('it streams reasoning, text, two interleaved calls and usage', async t => {
  const events = read([
    chunk({ role: 'assistant', content: '' }),
    chunk({ reasoning_content: 'think ' }),
    chunk({ reasoning_content: 'more' }),
    chunk({ content: 'Hello ' }),
    chunk({ content: 'w' }),
    piece(0, { id: 'call_1', type: 'function', function: { name: 'exec_command', arguments: '' } }),
    piece(1, { id: 'call_2', type: 'function', function: { name: 'exec_command', arguments: '{"cmd"' } }),
    piece(0, { function: { arguments: '{"cmd":"a' } }),
    piece(1, { function: { arguments: ':"b"}' } }),
    piece(0, { function: { arguments: '"}' } }),
    fin('tool_calls'),
    usage,
    '[DONE]',
  ])
  const called = { name: 'exec_command', namespace: null, freeform: false, opaque: {} } as const
  t.strictSame(events, [
    start,
    opened(0, 'reasoning'),
    { type: 'reasoning', index: 0, part: 0, delta: 'think ' },
    { type: 'reasoning', index: 0, part: 0, delta: 'more' },
    {
      type: 'item.end',
      index: 0,
      item: {
        type: 'reasoning',
        id: null,
        summary: [],
        content: ['think more'],
        opaque: { chat: { issuer: 'mock', reasoning_content: 'think more' } },
      },
    },
    opened(1, 'text'),
    word(1, 'Hello '),
    word(1, 'w'),
    said(1, 'Hello w'),
    { type: 'item.start', index: 2, item: { type: 'call', id: 'call_1', name: 'exec_command' } },
    { type: 'item.start', index: 3, item: { type: 'call', id: 'call_2', name: 'exec_command' } },
    { type: 'args', index: 3, delta: '{"cmd"' },
    { type: 'args', index: 2, delta: '{"cmd":"a' },
    { type: 'args', index: 3, delta: ':"b"}' },
    { type: 'args', index: 2, delta: '"}' },
    { type: 'item.end', index: 2, item: { type: 'call', id: 'call_1', args: '{"cmd":"a"}', ...called } },
    { type: 'item.end', index: 3, item: { type: 'call', id: 'call_2', args: '{"cmd":"b"}', ...called } },
    {
      type: 'finish',
      reason: 'stop',
      usage: { input: 100, cached: 60, cacheWrite: 0, output: 30, reasoning: 20, total: 130 },
    },
  ])
})

t.test('it tells calls apart however a server numbers them', async t => {
  const whole = (fields: object, args = '{"cmd":"1"}') => ({
    ...fields,
    function: { name: 'exec_command', arguments: args },
  })
  const cases: readonly [string, readonly object[], readonly (readonly string[])[]][] = [
    [
      'one index for two ids',
      [piece(0, whole({ id: 'a' })), piece(0, whole({ id: 'b' }, '{"cmd":"2"}'))],
      [
        ['a', 'exec_command', '{"cmd":"1"}'],
        ['b', 'exec_command', '{"cmd":"2"}'],
      ],
    ],
    [
      'one index, one id twice',
      [piece(0, whole({ id: 'a' }, '{"cmd"')), piece(0, { id: 'a', function: { arguments: ':"1"}' } })],
      [['a', 'exec_command', '{"cmd":"1"}']],
    ],
    [
      'ids without index',
      [
        piece(null, whole({ id: 'a' }, '{')),
        piece(null, whole({ id: 'b' }, '{}')),
        piece(null, { id: 'a', function: { arguments: '}' } }),
      ],
      [
        ['a', 'exec_command', '{}'],
        ['b', 'exec_command', '{}'],
      ],
    ],
    [
      'arguments before the name',
      [
        piece(0, { id: 'a', function: { arguments: '{"c' } }),
        piece(0, { function: { name: 'f', arguments: 'md":1}' } }),
      ],
      [['a', 'f', '{"cmd":1}']],
    ],
    [
      'arguments as an object',
      [piece(0, { id: 'a', function: { name: 'f', arguments: { cmd: 'x' } } })],
      [['a', 'f', '{"cmd":"x"}']],
    ],
    ['empty arguments', [piece(0, { id: 'a', function: { name: 'f', arguments: '' } })], [['a', 'f', '{}']]],
    ['no name ever', [piece(0, { id: 'a', function: { arguments: '{}' } })], [['a', '', '{}']]],
    ['an empty piece', [piece(0, {}), piece(0, { function: {} })], []],
    [
      'ids that repeat',
      [piece(0, whole({ id: 'old' })), piece(1, whole({ id: 'old' }))],
      [
        ['old_2', 'exec_command', '{"cmd":"1"}'],
        ['old_3', 'exec_command', '{"cmd":"1"}'],
      ],
    ],
  ]
  const context = [user('hi'), call('old'), result('old', '')]
  for (const [name, events, expected] of cases) {
    t.strictSame(calls(read([...events, fin('tool_calls')], { request: request({ context }) })), expected, name)
  }
})

t.test('it makes ids for calls that have none', async t => {
  const call = (cmd: string) => ({ function: { name: 'exec_command', arguments: `{"cmd":"${cmd}"}` } })
  for (const index of [null, 0]) {
    const found = calls(read([piece(index, call('1')), piece(index, call('2')), fin('stop')]))
    t.strictSame(
      found.map(([, , args]) => args),
      ['{"cmd":"1"}', '{"cmd":"2"}'],
    )
    t.equal(new Set(found.map(([id]) => id)).size, 2)
  }
})

t.test('it reads content in every shape', async t => {
  const cases: readonly [string, readonly (object | string)[], readonly ModelEvent[]][] = [
    [
      'a list of parts',
      [chunk({ content: [{ type: 'text', text: 'arr' }] })],
      [opened(0, 'text'), word(0, 'arr'), said(0, 'arr')],
    ],
    ['null', [chunk({ content: null })], []],
    ['a refusal', [chunk({ refusal: 'No.' })], [opened(0, 'text'), word(0, 'No.'), said(0, 'No.')]],
    [
      'a whole message',
      [{ id: 'c1', model: 'mm', choices: [{ message: { content: 'all' } }] }],
      [opened(0, 'text'), word(0, 'all'), said(0, 'all')],
    ],
    [
      'broken and unknown events',
      [': x', '{', 'null', { foo: 1 }, chunk({ content: 'x', foo: 1 })],
      [opened(0, 'text'), word(0, 'x'), said(0, 'x')],
    ],
  ]
  for (const [name, events, expected] of cases) {
    t.strictSame(
      read([...events, fin('stop')]).filter(event => event.type !== 'start'),
      [...expected, finish],
      name,
    )
  }
})

t.test('it keeps OpenRouter reasoning details as if they had come whole', async t => {
  const detail = (fields: object) => chunk({ reasoning_details: [{ type: 'reasoning.text', index: 0, ...fields }] })
  const events = read([
    { ...chunk({ reasoning: 'a' }), ...detail({ text: 'a', format: 'x' }) },
    detail({ text: 'b' }),
    detail({ signature: 'SIG', text: null }),
    chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'ENC' }, 'junk', null] }),
    chunk({ reasoning: 'ab' }),
    chunk({ content: 'x' }),
    fin('stop'),
  ])
  t.strictSame(ended(events)[0], {
    type: 'reasoning',
    id: null,
    summary: [],
    content: ['ab'],
    opaque: {
      chat: {
        issuer: 'mock',
        reasoning: 'ab',
        reasoning_details: [
          { type: 'reasoning.text', index: 0, text: 'ab', format: 'x', signature: 'SIG' },
          { type: 'reasoning.encrypted', index: 1, data: 'ENC' },
        ],
      },
    },
  })
})

t.test('it unwraps freeform tools, streamed and whole', async t => {
  const tools = [patch, tool('f')]
  const run = (pieces: readonly string[], name = 'apply_patch') =>
    read(
      [
        piece(0, { id: 'a', function: { name } }),
        ...pieces.map(args => piece(0, { function: { arguments: args } })),
        fin('stop'),
      ],
      { request: request({ tools }) },
    )
  const cases: readonly [readonly string[], string, string][] = [
    [['{"in', 'put":"*** Be', 'gin\\', 'nx\\ud83d', '\\ude00"', '}'], '*** Begin\nx😀', '*** Begin\nx😀'],
    [['{ "input" : "a\\tb\\/\\u00e9" }'], 'a\tb/é', 'a\tb/é'],
    [['{"input":"a\\ud83dx\\udc00"}'], 'a\ufffdx\ufffd', 'a\ud83dx\udc00'],
    [['{"patch":"*** Begin"}'], '', '*** Begin'],
    [['*** Begin Patch\n*** End Patch'], '', '*** Begin Patch\n*** End Patch'],
    [['{"input":"cut off'], 'cut off', '{"input":"cut off'],
    [['"just a string"'], '', 'just a string'],
    [['{"input":5,"a":"b","c":"d"}'], '', '{"input":5,"a":"b","c":"d"}'],
  ]
  for (const [pieces, streamed, args] of cases) {
    const events = run(pieces)
    t.equal(deltas(events, 'args'), streamed, pieces.join(''))
    t.strictSame(ended(events), [
      { type: 'call', id: 'a', name: 'apply_patch', namespace: null, args, freeform: true, opaque: {} },
    ])
  }
  t.equal(deltas(run(['{"input":"x"}'], 'f'), 'args'), '{"input":"x"}', 'a function stays one')
})

t.test('it streams the same text as it ends with, wherever the pieces are cut', async () => {
  const words = fc.string({ unit: 'grapheme' })
  fc.assert(
    fc.property(words, fc.array(fc.nat(12), { minLength: 1 }), (string, cuts) => {
      const args = JSON.stringify({ input: string })
      const pieces: string[] = []
      for (let at = 0, n = 0; at < args.length; n++) {
        const length = 1 + (cuts[n % cuts.length] ?? 0)
        pieces.push(args.slice(at, at + length))
        at += length
      }
      const events = read(
        [
          piece(0, { id: 'a', function: { name: 'apply_patch' } }),
          ...pieces.map(part => piece(0, { function: { arguments: part } })),
          fin('stop'),
        ],
        { request: request({ tools: [patch] }) },
      )
      const [item] = ended(events)
      return (
        item?.type === 'call' &&
        item.args === string &&
        (/[\ud800-\udfff]/.test(string) || deltas(events, 'args') === string)
      )
    }),
  )
})

t.test('it ends in exactly one finish or error', async t => {
  const words = chunk({ content: 'He' })
  t.match(last([words, fin('length'), usage]), { type: 'finish', reason: 'length', usage: { total: 130 } })
  t.match(last([words, fin('content_filter')]), { type: 'finish', reason: 'filter' })
  t.strictSame(last([words, fin('eos'), '[DONE]', words, { error: 'late' }]), finish)
  t.strictSame(last([words, fin('stop')]), finish, 'without [DONE]')
  t.strictSame(
    read([words, fin('stop')], { failure: { kind: 'network', message: 'cut' } }).at(-1),
    finish,
    'cut after its end',
  )
  t.match(read([words, fin('stop')], { failure: { kind: 'aborted', message: 'x' } }).at(-1), {
    type: 'error',
    error: { kind: 'aborted' },
  })
  const truncated = {
    type: 'error',
    error: { kind: 'truncated', message: 'stream closed before its finish_reason' },
  } as const
  t.strictSame(last([words]), truncated)
  t.strictSame(last([words, '[DONE]']), truncated)
  const half = read([piece(0, { id: 'a', function: { name: 'exec_command', arguments: '{"cmd":"rm -rf /' } })])
  t.strictSame([calls(half), half.at(-1)], [[], truncated], 'half a call is no call')
  const error = (fields: object) => ({ type: 'error', error: { kind: 'failed', ...fields } })
  t.strictSame(last([words, { error: 'boom' }]), error({ message: 'boom' }))
  t.strictSame(
    last([words, { error: { message: 'ovl', code: 503, type: 'x' } }]),
    error({ code: '503', message: 'ovl' }),
  )
  t.strictSame(
    last([{ ...chunk({ content: '' }, { finish_reason: 'error' }), error: { code: 'server_error', message: 'gone' } }]),
    error({ code: 'server_error', message: 'gone' }),
  )
  t.strictSame(last([fin('error')]), error({ message: 'the provider ended the response with an error' }))
  t.strictSame(last([{ object: 'error', message: 'bad', code: 400 }]), error({ code: '400', message: 'bad' }))
  t.match(
    last([
      words,
      fin('stop'),
      { choices: [], usage: { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 7 } },
    ]),
    {
      usage: { input: 10, cached: 7, cacheWrite: 0, output: 2, reasoning: 0, total: 12 },
    },
  )
})

t.test('it survives whatever JSON a server sends', async () => {
  const some = fc.jsonValue()
  const toolCall = fc.record(
    {
      index: fc.oneof(fc.constantFrom(0, 1), some),
      id: some,
      function: fc.oneof(some, fc.record({ name: some, arguments: some })),
    },
    { requiredKeys: [] },
  )
  const delta = fc.record(
    { content: some, reasoning_content: some, reasoning_details: some, tool_calls: fc.oneof(some, fc.array(toolCall)) },
    { requiredKeys: [] },
  )
  const event = fc.oneof(
    some,
    fc.record({
      id: some,
      usage: some,
      choices: fc.array(fc.record({ delta, finish_reason: some }, { requiredKeys: [] })),
    }),
  )
  fc.assert(
    fc.property(fc.array(event), events => {
      const out = read(events.map(e => JSON.stringify(e)))
      const lasts = out.filter(e => e.type === 'finish' || e.type === 'error')
      return lasts.length === 1 && lasts[0] === out.at(-1)
    }),
  )
})

t.test('it writes a whole conversation for a server that knows only the basics', async t => {
  const image = { type: 'image', url: 'data:image/png;base64,AA' } as const
  const context: readonly ContextEntry[] = [
    developer('rules'),
    user('<environment_context>'),
    user('look', image),
    { type: 'reasoning', text: '', opaque: { chat: { issuer: 'mock', reasoning_content: 'old thought' } } },
    { type: 'text', text: 'Looking', id: 'm', phase: null },
    call('c1'),
    call('c2', {
      name: 'apply_patch',
      args: 'P',
      freeform: true,
      opaque: { chat: { issuer: 'mock', extra_content: { google: { thought_signature: 'S' } } } },
    }),
    result('c2', 'ok', { freeform: true }),
    result('c1', [text('out'), image]),
    developer('be quick'),
    user('go on'),
    { type: 'reasoning', text: '', opaque: { chat: { issuer: 'mock', reasoning_content: 'new ' } } },
    {
      type: 'reasoning',
      text: '',
      opaque: { chat: { issuer: 'mock', reasoning_content: 'thought', reasoning_details: [{ type: 'x' }] } },
    },
    {
      type: 'reasoning',
      text: '',
      opaque: { chat: { issuer: 'other', reasoning_content: 'foreign' }, responses: { issuer: 'mock' } },
    },
    call('c3', { namespace: 'web', name: 'open', args: '' }),
    result('c3', ''),
  ]
  const tools = [tool('exec_command'), patch, { ...tool('open'), namespace: 'web' }]
  const body = chat.encode(request({ context, tools, effort: 'none' }), local)
  const fn = (name: string, args: string) => ({ type: 'function', function: { name, arguments: args } })
  const input = { type: 'string', description: 'The whole text for this tool, exactly as it is to be read.' }
  t.strictSame(onWire(body), {
    model: 'llama-4',
    messages: [
      { role: 'system', content: 'base\n\nrules' },
      {
        role: 'user',
        content: [
          { type: 'text', text: '<environment_context>' },
          { type: 'text', text: 'look' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Looking',
        tool_calls: [
          { id: 'c1', ...fn('exec_command', '{"cmd":"ls"}') },
          { id: 'c2', ...fn('apply_patch', '{"input":"P"}'), extra_content: { google: { thought_signature: 'S' } } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'out\n(the image follows)' },
      { role: 'tool', tool_call_id: 'c2', content: 'ok' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
          { type: 'text', text: '<system-reminder>\nbe quick\n</system-reminder>' },
          { type: 'text', text: 'go on' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'new thought',
        reasoning_details: [{ type: 'x' }],
        tool_calls: [{ id: 'c3', ...fn('web__open', '{}') }],
      },
      { role: 'tool', tool_call_id: 'c3', content: '' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'exec_command', description: 'exec_command', parameters: { type: 'object' } },
      },
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: 'patch',
          parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
        },
      },
      { type: 'function', function: { name: 'web__open', description: 'open', parameters: { type: 'object' } } },
    ],
    stream: true,
    stream_options: { include_usage: true },
  })
})

t.test('it keeps the order that servers insist on', async t => {
  const roles = (context: readonly ContextEntry[], instructions = 'base') => {
    const body = onWire(chat.encode(request({ context, instructions }), local)) as { messages: { role: string }[] }
    return body.messages.map(({ role }) => role).join(' ')
  }
  t.equal(roles([]), 'system')
  t.equal(roles([user('a'), user('b'), developer('c')], ''), 'user')
  t.equal(roles([user('a'), { type: 'text', text: '', id: null, phase: null }, user('b')]), 'system user')
  t.equal(roles([user('a'), call('c1'), user('b')]), 'system user assistant tool user')
  t.equal(
    roles([user('a'), { type: 'reasoning', text: 'x', opaque: { chat: { issuer: 'mock', reasoning: 'x' } } }]),
    'system user',
  )
})

t.test('it fits its parameters to model and provider', async t => {
  const body = (more: Parameters<typeof request>[0], target = local) =>
    onWire(chat.encode(request(more), target)) as Record<string, unknown>
  t.equal(body({ effort: 'xhigh' }).reasoning_effort, 'high')
  t.equal(body({ effort: 'minimal' }).reasoning_effort, 'low')
  t.equal(body({ effort: 'bogus' }).reasoning_effort, 'bogus')
  t.equal(body({ serviceTier: 'flex' }).service_tier, 'flex')
  t.strictSame(body({ outputSchema: { type: 'object' } }).response_format, {
    type: 'json_schema',
    json_schema: { name: 'codex_output_schema', strict: true, schema: { type: 'object' } },
  })
  const mistral = targetOf('mistral-x', { id: 'mistral', wire: 'chat' })
  const sent = body({ context: [call('call_with_a_long_id'), result('call_with_a_long_id', '')] }, mistral)
  const [, asked, answer] = sent.messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[]
  t.notOk('stream_options' in sent)
  t.match(asked?.tool_calls?.[0]?.id, /^[a-zA-Z0-9]{9}$/)
  t.equal(answer?.tool_call_id, asked?.tool_calls?.[0]?.id)
  const blind = { ...local, info: { ...local.info, images: false } }
  const image = { type: 'image', url: 'data:x' } as const
  t.strictSame(body({ context: [user('a', image), call('c'), result('c', [image])] }, blind).messages, [
    { role: 'system', content: 'base' },
    { role: 'user', content: 'a\n(an image was left out: this model takes text only)' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'exec_command', arguments: '{"cmd":"ls"}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: '(an image was left out: this model takes text only)' },
  ])
})
