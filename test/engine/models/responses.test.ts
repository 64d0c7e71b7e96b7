import fc from 'fast-check'
import t from 'tap'
import type { ModelEvent, ToolSpec } from '../../../src/engine/models/model.ts'
import { responses } from '../../../src/engine/models/responses.ts'
import { call, decode, deltas, developer, ended, onWire, request, result, targetOf, text, user } from './support.ts'

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 130,
}
const created = { type: 'response.created', response: { id: 'resp_1', model: 'gpt-5.4' } }
const completed = { type: 'response.completed', response: { id: 'resp_1', usage: USAGE } }
const start: ModelEvent = { type: 'start', responseId: 'resp_1', model: 'gpt-5.4' }
const finish: ModelEvent = {
  type: 'finish',
  reason: 'stop',
  usage: { input: 100, cached: 60, cacheWrite: 0, output: 30, reasoning: 20, total: 130 },
}
const added = (output_index: number, item: object) => ({ type: 'response.output_item.added', output_index, item })
const done = (output_index: number, item: object) => ({ type: 'response.output_item.done', output_index, item })
const delta = (output_index: number, piece: unknown, more: object = {}) => ({
  type: 'response.output_text.delta',
  output_index,
  delta: piece,
  ...more,
})
const message = (words: string, more: object = {}) => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: words, annotations: [] }],
  ...more,
})
const textItem = (words: string, id: string | null = 'msg_1', phase: string | null = null) => ({
  type: 'text',
  id,
  text: words,
  phase,
})
const patchTool = { name: 'apply_patch', description: 'patch', grammar: 'start: "x"' }

t.test('it streams reasoning, a message and interleaved calls of a full OpenAI stream', async t => {
  const events = decode(responses, [
    created,
    { type: 'response.in_progress', response: { id: 'resp_1' } },
    added(0, { type: 'reasoning', id: 'rs_1', summary: [] }),
    { type: 'response.reasoning_summary_part.added', item_id: 'rs_1', output_index: 0, summary_index: 0 },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: '**Plan**' },
    { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: '**Plan**' },
    { type: 'response.reasoning_summary_part.added', output_index: 0, summary_index: 1 },
    { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'two' },
    { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'RAW' },
    done(0, {
      type: 'reasoning',
      id: 'rs_1',
      encrypted_content: 'ENC',
      summary: [
        { type: 'summary_text', text: '**Plan**' },
        { type: 'summary_text', text: 'two' },
      ],
      content: [{ type: 'reasoning_text', text: 'RAW' }],
    }),
    added(1, message('', { phase: 'commentary', content: [] })),
    { type: 'response.content_part.added', output_index: 1, content_index: 0 },
    delta(1, 'Let me '),
    delta(1, 'look'),
    done(1, message('Let me look', { phase: 'commentary' })),
    added(2, { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'exec_command', arguments: '' }),
    added(3, { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'exec_command', arguments: '' }),
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '{"cmd":' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_2', output_index: 3, delta: '{"cmd":"b"}' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 2, delta: '"a"}' },
    done(3, { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'exec_command', arguments: '{"cmd":"b"}' }),
    done(2, { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'exec_command', arguments: '{"cmd":"a"}' }),
    added(4, { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_3', name: 'apply_patch', input: '' }),
    { type: 'response.custom_tool_call_input.delta', output_index: 4, delta: '*** Begin Patch\n' },
    { type: 'response.custom_tool_call_input.delta', output_index: 4, delta: '*** End Patch' },
    done(4, {
      type: 'custom_tool_call',
      id: 'ctc_1',
      call_id: 'call_3',
      name: 'apply_patch',
      input: '*** Begin Patch\n*** End Patch',
    }),
    completed,
  ])
  const called = { namespace: null, freeform: false, opaque: {} }
  t.strictSame(events, [
    start,
    { type: 'item.start', index: 0, item: { type: 'reasoning', id: 'rs_1' } },
    { type: 'summary.part', index: 0, part: 0 },
    { type: 'summary', index: 0, part: 0, delta: '**Plan**' },
    { type: 'summary.part', index: 0, part: 1 },
    { type: 'summary', index: 0, part: 1, delta: 'two' },
    { type: 'reasoning', index: 0, part: 0, delta: 'RAW' },
    {
      type: 'item.end',
      index: 0,
      item: {
        type: 'reasoning',
        id: 'rs_1',
        summary: ['**Plan**', 'two'],
        content: ['RAW'],
        opaque: {
          responses: {
            issuer: 'mock',
            summary: [
              { type: 'summary_text', text: '**Plan**' },
              { type: 'summary_text', text: 'two' },
            ],
            content: [{ type: 'reasoning_text', text: 'RAW' }],
            encrypted_content: 'ENC',
          },
        },
      },
    },
    { type: 'item.start', index: 1, item: { type: 'text', id: 'msg_1', phase: 'commentary' } },
    { type: 'text', index: 1, delta: 'Let me ' },
    { type: 'text', index: 1, delta: 'look' },
    { type: 'item.end', index: 1, item: textItem('Let me look', 'msg_1', 'commentary') },
    { type: 'item.start', index: 2, item: { type: 'call', id: 'call_1', name: 'exec_command' } },
    { type: 'item.start', index: 3, item: { type: 'call', id: 'call_2', name: 'exec_command' } },
    { type: 'args', index: 2, delta: '{"cmd":' },
    { type: 'args', index: 3, delta: '{"cmd":"b"}' },
    { type: 'args', index: 2, delta: '"a"}' },
    {
      type: 'item.end',
      index: 3,
      item: { type: 'call', id: 'call_2', name: 'exec_command', args: '{"cmd":"b"}', ...called },
    },
    {
      type: 'item.end',
      index: 2,
      item: { type: 'call', id: 'call_1', name: 'exec_command', args: '{"cmd":"a"}', ...called },
    },
    { type: 'item.start', index: 4, item: { type: 'call', id: 'call_3', name: 'apply_patch' } },
    { type: 'args', index: 4, delta: '*** Begin Patch\n' },
    { type: 'args', index: 4, delta: '*** End Patch' },
    {
      type: 'item.end',
      index: 4,
      item: {
        type: 'call',
        id: 'call_3',
        name: 'apply_patch',
        ...called,
        args: '*** Begin Patch\n*** End Patch',
        freeform: true,
      },
    },
    finish,
  ])
})

t.test('it takes sparse streams', async t => {
  const whole = (item: object) => [created, done(0, item), completed]
  const opened = (item: object, index = 0): ModelEvent => ({ type: 'item.start', index, item }) as ModelEvent
  const closed = (item: object, index = 0): ModelEvent => ({ type: 'item.end', index, item }) as ModelEvent
  const emptyText = { type: 'text', id: null, phase: null }
  const cases: readonly [string, readonly (object | string)[], readonly ModelEvent[]][] = [
    [
      'a message that is only in its end',
      whole({ type: 'message', content: [{ type: 'output_text', text: 'whole' }] }),
      [start, opened(emptyText), closed(textItem('whole', null)), finish],
    ],
    [
      'deltas without any item',
      [created, { type: 'response.output_text.delta', delta: 'x' }, completed],
      [start, opened(emptyText), { type: 'text', index: 0, delta: 'x' }, closed(textItem('x', null)), finish],
    ],
    [
      'an end without text, after deltas',
      [
        created,
        added(0, message('')),
        delta(0, 'a'),
        delta(0, 'b'),
        done(0, { type: 'message', id: 'msg_1' }),
        completed,
      ],
      [
        start,
        opened({ type: 'text', id: 'msg_1', phase: null }),
        { type: 'text', index: 0, delta: 'a' },
        { type: 'text', index: 0, delta: 'b' },
        closed(textItem('ab')),
        finish,
      ],
    ],
    [
      'an id that changes between start and end, without indexes',
      [
        created,
        { type: 'response.output_item.added', item: { type: 'message', id: 'a' } },
        { type: 'response.output_text.delta', item_id: 'a', delta: 'x' },
        { type: 'response.output_item.done', item: message('x', { id: 'b' }) },
        completed,
      ],
      [
        start,
        opened({ type: 'text', id: 'a', phase: null }),
        { type: 'text', index: 0, delta: 'x' },
        closed(textItem('x', 'a')),
        finish,
      ],
    ],
    [
      'a refusal',
      [
        created,
        { type: 'response.refusal.delta', output_index: 0, delta: 'No.' },
        done(0, { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }),
        completed,
      ],
      [start, opened(emptyText), { type: 'text', index: 0, delta: 'No.' }, closed(textItem('No.', null)), finish],
    ],
    [
      'everything in the last event',
      [{ type: 'response.completed', response: { output: [message('late')], usage: USAGE } }],
      [opened({ type: 'text', id: 'msg_1', phase: null }), closed(textItem('late')), finish],
    ],
    [
      'an item of an unknown type',
      whole({ type: 'hologram', id: 'h' }),
      [start, opened({ type: 'other' }), closed({ type: 'other', raw: { type: 'hologram', id: 'h' } }), finish],
    ],
    ['nothing at all', [created, completed], [start, finish]],
    ['no usage', [{ type: 'response.completed' }], [{ type: 'finish', reason: 'stop', usage: null }]],
    [
      'broken events and unknown ones',
      [created, '{"type": broken', 'null', '[]', '7', { type: 'keepalive' }, {}, completed],
      [start, finish],
    ],
    [
      'a delta that is no string',
      [created, added(0, message('')), delta(0, 5), delta(0, null), done(0, message('ok')), completed],
      [start, opened({ type: 'text', id: 'msg_1', phase: null }), closed(textItem('ok')), finish],
    ],
    [
      'a delta after the end',
      [created, done(0, message('ok')), delta(0, 'late', { item_id: 'msg_1' }), completed],
      [start, opened({ type: 'text', id: 'msg_1', phase: null }), closed(textItem('ok')), finish],
    ],
    ['events after the last one', [created, completed, delta(0, 'x'), completed], [start, finish]],
  ]
  for (const [name, events, expected] of cases) t.strictSame(decode(responses, events), expected, name)
})

t.test('it tells items apart on a server that gives all of them index 0', async t => {
  const fn = (id: string, args: string) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: 'exec_command',
    arguments: args,
  })
  const events = decode(responses, [
    created,
    added(0, fn('call_1', '')),
    done(0, fn('call_1', '{"cmd":"a"}')),
    added(0, fn('call_2', '')),
    done(0, fn('call_2', '{"cmd":"b"}')),
    completed,
  ])
  t.strictSame(
    events.flatMap(event =>
      event.type === 'item.end' && event.item.type === 'call' ? [[event.index, event.item.id, event.item.args]] : [],
    ),
    [
      [0, 'call_1', '{"cmd":"a"}'],
      [1, 'call_2', '{"cmd":"b"}'],
    ],
  )
})

t.test('it never gives two calls one id', async t => {
  const fn = (call_id: string | null) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' })
  const events = decode(
    responses,
    [created, done(0, fn('call_1')), done(1, fn('call_1')), done(2, fn('old')), done(3, fn(null)), completed],
    {
      request: request({ context: [user('hi'), call('old'), result('old', '')] }),
    },
  )
  const ids = ended(events).map(item => (item.type === 'call' ? item.id : ''))
  t.strictSame(ids.slice(0, 3), ['call_1', 'call_1_2', 'old_2'])
  t.match(ids[3], /^call_[0-9a-f-]{36}$/)
})

t.test('it replaces lone surrogates, which clients cannot read, and keeps NUL', async t => {
  const events = decode(responses, [
    created,
    `{"type":"response.output_text.delta","output_index":0,"delta":"a\\u0000b\\ud800c"}`,
    completed,
  ])
  t.equal(deltas(events, 'text'), 'a\u0000b\ufffdc')
  t.strictSame(ended(events), [textItem('a\u0000b\ufffdc', null)])
})

t.test('it unwraps a freeform tool that is called as a function', async t => {
  const args = '{"input": "*** Begin Patch\\n+\\u00e9\\ud83d\\ude00 \\"q\\"\\n*** End Patch"}'
  const item = { type: 'function_call', call_id: 'c', name: 'apply_patch', arguments: '' }
  const pieces = [...args].map(piece => ({
    type: 'response.function_call_arguments.delta',
    output_index: 0,
    delta: piece,
  }))
  const events = decode(
    responses,
    [created, added(0, item), ...pieces, done(0, { ...item, arguments: args }), completed],
    {
      request: request({ tools: [patchTool] }),
    },
  )
  const patch = '*** Begin Patch\n+é😀 "q"\n*** End Patch'
  t.equal(deltas(events, 'args'), patch)
  t.strictSame(ended(events), [
    { type: 'call', id: 'c', name: 'apply_patch', namespace: null, args: patch, freeform: true, opaque: {} },
  ])
})

t.test('it finds tools in namespaces, named flat or apart', async t => {
  const tools = [
    { name: 'search', namespace: 'web', description: '', parameters: {} },
    { name: 'echo', namespace: 'mcp__tiny__', description: '', parameters: {} },
  ]
  const fn = (name: string, namespace?: string) => ({
    type: 'function_call',
    call_id: name,
    name,
    namespace,
    arguments: '{}',
  })
  const calls = [
    fn('search', 'web'),
    fn('web__search'),
    fn('web.search'),
    fn('mcp__tiny__echo'),
    fn('nope', 'web'),
    fn('other'),
  ]
  const events = decode(responses, [created, ...calls.map((item, at) => done(at, item)), completed], {
    request: request({ tools }),
  })
  t.strictSame(
    ended(events).map(item => (item.type === 'call' ? [item.namespace, item.name] : [])),
    [
      ['web', 'search'],
      ['web', 'search'],
      ['web', 'search'],
      ['mcp__tiny__', 'echo'],
      ['web', 'nope'],
      [null, 'other'],
    ],
  )
})

t.test('it ends in exactly one finish or error', async t => {
  const failure = { kind: 'network', message: 'cut' } as const
  const last = (events: readonly object[], more: Parameters<typeof decode>[2] = {}) =>
    decode(responses, events, more).at(-1)
  const failed = (error: object) => [created, { type: 'response.failed', response: { status: 'failed', error } }]
  t.strictSame(last([created, delta(0, 'x')]), {
    type: 'error',
    error: { kind: 'truncated', message: 'stream closed before response.completed' },
  })
  t.strictSame(last([created], { failure }), { type: 'error', error: failure })
  t.strictSame(last([created, completed], { failure }), finish, 'what comes after the last event does not matter')
  t.strictSame(last(failed({ code: 'context_length_exceeded', message: 'too long' })), {
    type: 'error',
    error: { kind: 'failed', code: 'context_length_exceeded', message: 'too long' },
  })
  t.strictSame(last(failed({ code: 'rate_limit_exceeded', message: 'Please try again in 1.3s' })), {
    type: 'error',
    error: { kind: 'failed', code: 'rate_limit_exceeded', message: 'Please try again in 1.3s', retryAfterMs: 1300 },
  })
  t.strictSame(last([{ type: 'response.failed' }]), {
    type: 'error',
    error: { kind: 'failed', message: 'the provider gave no reason' },
  })
  t.strictSame(last([{ type: 'error', error: { type: 'server_error', code: null, message: 'ovl' } }]), {
    type: 'error',
    error: { kind: 'failed', code: 'server_error', message: 'ovl' },
  })
  t.strictSame(last([{ type: 'error', code: 'rate_limit_exceeded', message: 'flat' }]), {
    type: 'error',
    error: { kind: 'failed', code: 'rate_limit_exceeded', message: 'flat' },
  })
  const incomplete = (reason: string) =>
    last([{ type: 'response.incomplete', response: { incomplete_details: { reason } } }])
  t.strictSame(incomplete('max_output_tokens'), { type: 'finish', reason: 'length', usage: null })
  t.strictSame(incomplete('content_filter'), { type: 'finish', reason: 'filter', usage: null })
})

t.test('it survives whatever JSON a server sends', async () => {
  const types = [
    'response.created',
    'response.output_item.added',
    'response.output_item.done',
    'response.output_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_part.added',
    'response.reasoning_text.delta',
    'response.function_call_arguments.delta',
    'response.completed',
    'response.failed',
    'response.incomplete',
    'error',
  ]
  const item = fc.oneof(
    fc.jsonValue(),
    fc.record({
      type: fc.constantFrom('message', 'reasoning', 'function_call', 'custom_tool_call', 'x'),
      id: fc.jsonValue(),
      call_id: fc.jsonValue(),
      content: fc.jsonValue(),
      arguments: fc.jsonValue(),
    }),
  )
  const event = fc.record(
    {
      type: fc.constantFrom(...types),
      output_index: fc.oneof(fc.constantFrom(0, 1, null), fc.jsonValue()),
      item_id: fc.jsonValue(),
      summary_index: fc.jsonValue(),
      delta: fc.jsonValue(),
      item,
      response: fc.jsonValue(),
      error: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  )
  fc.assert(
    fc.property(fc.array(event), events => {
      const out = decode(responses, events)
      const started = new Set(out.flatMap(e => (e.type === 'item.start' ? [e.index] : [])))
      const lasts = out.filter(e => e.type === 'finish' || e.type === 'error')
      return lasts.length === 1 && lasts[0] === out.at(-1) && out.every(e => !('index' in e) || started.has(e.index))
    }),
  )
})

t.test('it asks a known model as codex does', async t => {
  const tools: readonly ToolSpec[] = [
    {
      name: 'exec_command',
      description: 'run',
      parameters: { type: 'object', properties: { cmd: { type: 'string' } } },
    },
    patchTool,
    { name: 'search', namespace: 'web', description: 's', parameters: { type: 'object' } },
    { name: 'open', namespace: 'web', description: 'o' },
  ]
  const context = [
    developer('rules', 'skills'),
    user('<environment_context>'),
    user('look', { type: 'image', url: 'data:image/png;base64,AA', detail: 'high' }),
    {
      type: 'reasoning',
      text: 'hm',
      opaque: {
        responses: { issuer: 'mock', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'ENC' },
      },
    },
    { type: 'text', text: 'Looking', id: 'msg_1', phase: 'commentary' },
    call('call_1'),
    call('call_2', { name: 'apply_patch', args: '*** Begin', freeform: true }),
    call('call_3', { name: 'search', namespace: 'web', args: '' }),
    result('call_1', [text('a'), { type: 'image', url: 'data:x', detail: 'high' }]),
    result('call_2', 'Success', { name: 'apply_patch', freeform: true }),
    result('call_3', 'found', { name: 'search' }),
    user('more'),
  ] as const
  const body = responses.encode(request({ context, tools }), targetOf('gpt-5.4'))
  t.strictSame(onWire(body), {
    model: 'gpt-5.4',
    instructions: 'base',
    input: [
      {
        type: 'message',
        role: 'developer',
        content: [
          { type: 'input_text', text: 'rules' },
          { type: 'input_text', text: 'skills' },
        ],
      },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: '<environment_context>' }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA', detail: 'high' },
        ],
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'ENC' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking' }], phase: 'commentary' },
      { type: 'function_call', call_id: 'call_1', name: 'exec_command', arguments: '{"cmd":"ls"}' },
      { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: '*** Begin' },
      { type: 'function_call', call_id: 'call_3', name: 'search', namespace: 'web', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_1',
        output: [
          { type: 'input_text', text: 'a' },
          { type: 'input_image', image_url: 'data:x', detail: 'high' },
        ],
      },
      { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Success' },
      { type: 'function_call_output', call_id: 'call_3', output: 'found' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'more' }] },
    ],
    tools: [
      { type: 'function', name: 'exec_command', description: 'run', strict: false, parameters: tools[0]?.parameters },
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'patch',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
      },
      {
        type: 'namespace',
        name: 'web',
        description: 'Tools of web.',
        tools: [
          { type: 'function', name: 'search', description: 's', strict: false, parameters: { type: 'object' } },
          {
            type: 'function',
            name: 'open',
            description: 'o',
            strict: false,
            parameters: { type: 'object', properties: {} },
          },
        ],
      },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: 'thread-1',
    text: { verbosity: 'low' },
  })
})

t.test('it asks an unknown model for less, and gives it functions only', async t => {
  const context = [
    user('hi'),
    { type: 'reasoning', text: '', opaque: { responses: { issuer: 'openai', encrypted_content: 'E' } } },
    { type: 'reasoning', text: '', opaque: { chat: { issuer: 'mock', reasoning_content: 'x' } } },
    call('c1', { name: 'apply_patch', args: 'P', freeform: true }),
    result('c1', 'ok', { freeform: true }),
    call('c2', { name: 'open', namespace: 'web' }),
    result('c2', ''),
  ] as const
  const tools = [patchTool, { name: 'open', namespace: 'web', description: 'o' }]
  const body = responses.encode(request({ context, tools, effort: 'none' }), targetOf('mock-model'))
  const input = { type: 'string', description: 'The whole text for this tool, exactly as it is to be read.' }
  t.strictSame(onWire(body), {
    model: 'mock-model',
    instructions: 'base',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'function_call', call_id: 'c1', name: 'apply_patch', arguments: '{"input":"P"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'ok' },
      { type: 'function_call', call_id: 'c2', name: 'web__open', arguments: '{"cmd":"ls"}' },
      { type: 'function_call_output', call_id: 'c2', output: '' },
    ],
    tools: [
      {
        type: 'function',
        name: 'apply_patch',
        description: 'patch',
        strict: false,
        parameters: { type: 'object', properties: { input }, required: ['input'], additionalProperties: false },
      },
      {
        type: 'function',
        name: 'web__open',
        description: 'o',
        strict: false,
        parameters: { type: 'object', properties: {} },
      },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: false,
    store: false,
    stream: true,
    include: [],
    prompt_cache_key: 'thread-1',
  })
})

t.test('it passes effort, summary, tier and a schema on', async t => {
  const schema = { type: 'object', properties: { a: { type: 'number' } } }
  const asked = request({ effort: 'low', summary: 'concise', serviceTier: 'priority', outputSchema: schema })
  const picked = (body: object) => {
    const { reasoning, text, service_tier, include, parallel_tool_calls } = onWire(body) as Record<string, unknown>
    return { reasoning, text, service_tier, include, parallel_tool_calls }
  }
  t.strictSame(picked(responses.encode(asked, targetOf('gpt-5.5'))), {
    reasoning: { effort: 'low', summary: 'concise' },
    text: { verbosity: 'low', format: { type: 'json_schema', strict: true, schema, name: 'codex_output_schema' } },
    service_tier: 'priority',
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
  })
  const plain = request({ effort: 'high', summary: 'none' })
  t.strictSame(picked(responses.encode(plain, targetOf('mock-model'))), {
    reasoning: { effort: 'high' },
    text: undefined,
    service_tier: undefined,
    include: ['reasoning.encrypted_content'],
    parallel_tool_calls: false,
  })
  t.strictSame((picked(responses.encode(request(), targetOf('gpt-5.2'))) as { reasoning: unknown }).reasoning, {
    effort: 'medium',
    summary: 'auto',
  })
})

t.test('it closes what an interrupted turn left open, so that the next request is taken', async t => {
  const context = [
    user('a'),
    call('c1'),
    call('c2'),
    call('c1'),
    result('c2', 'two'),
    result('ghost', 'nobody called'),
    user('b'),
    call('c3', { freeform: true, args: 'P' }),
  ]
  const body = onWire(responses.encode(request({ context }), targetOf('gpt-5.4'))) as {
    input: { type: string; call_id?: string; output?: string }[]
  }
  t.strictSame(
    body.input.map(({ type, call_id, output }) => [type, call_id, output].filter(Boolean).join(' ')),
    [
      'message',
      'function_call c1',
      'function_call c2',
      'function_call_output c1 aborted',
      'function_call_output c2 two',
      'message',
      'custom_tool_call c3',
      'custom_tool_call_output c3 aborted',
    ],
  )
})
