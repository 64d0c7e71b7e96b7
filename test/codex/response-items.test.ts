import t from 'tap'
import { readResponseItems, recordsOf } from '../../src/codex/response-items.ts'
import { History } from '../../src/engine/history.ts'

const message = (role: string, words: string) => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: words }],
})

const call = { type: 'function_call', name: 'exec_command', arguments: '{}', call_id: 'c1' }
const result = { type: 'function_call_output', call_id: 'c1', output: 'done' }

t.test('it reads what clients put into a context', async t => {
  const items = [
    message('user', 'hi'),
    message('system', 'be kind'),
    { ...message('assistant', 'hello'), id: 'm', phase: 'final_answer' },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_image', image_url: 'data:x', detail: 'low' }, { type: 'input_audio' }],
    },
    {
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'a' },
        { type: 'summary_text', text: 'b' },
      ],
    },
    call,
    result,
    { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin', call_id: 'c2' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'ok' }] },
    { type: 'web_search_call' },
    { type: 'what is this' },
  ]
  t.strictSame(readResponseItems(items), [
    { type: 'message', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
    { type: 'message', role: 'developer', parts: [{ type: 'text', text: 'be kind' }] },
    { type: 'text', text: 'hello', id: 'm', phase: 'final_answer' },
    { type: 'message', role: 'user', parts: [{ type: 'image', url: 'data:x', detail: 'low' }] },
    { type: 'reasoning', text: 'a\n\nb', opaque: {} },
    { type: 'call', id: 'c1', name: 'exec_command', namespace: null, args: '{}', freeform: false, opaque: {} },
    {
      type: 'result',
      id: 'c1',
      name: 'exec_command',
      freeform: false,
      parts: [{ type: 'text', text: 'done' }],
      isError: false,
    },
    { type: 'call', id: 'c2', name: 'apply_patch', namespace: null, args: '*** Begin', freeform: true, opaque: {} },
    {
      type: 'result',
      id: 'c2',
      name: 'apply_patch',
      freeform: true,
      parts: [{ type: 'text', text: 'ok' }],
      isError: false,
    },
  ])
})

t.test("it refuses what is no item, in codex's words", async t => {
  const wrong: readonly (readonly [unknown, string])[] = [
    [{ bad: 1 }, 'missing field `type`'],
    [{ type: 'message', role: 'user' }, 'missing field `content`'],
    [{ type: 'function_call', name: 'x', arguments: '{}' }, 'missing field `call_id`'],
    [null, 'invalid type: null, expected a response item'],
    ['text', 'invalid type: string, expected a response item'],
    [{ type: 5 }, 'invalid type: expected a string as `type`'],
  ]
  for (const [item, why] of wrong) {
    t.throws(() => readResponseItems([message('user', 'ok'), item]), {
      code: -32600,
      message: `items[1] is not a valid response item: ${why}`,
    })
  }
  t.throws(() => readResponseItems([]), { message: 'items must not be empty' })
  t.doesNotThrow(() => readResponseItems([{ type: 'constructor' }, { type: 'message', role: 7, content: 9 }]))
})

t.test('it makes turns of a history that a client brings along', async t => {
  const records = recordsOf(
    [
      message('user', '<environment_context>\n<cwd>/x</cwd>'),
      message('user', 'one'),
      call,
      result,
      message('assistant', 're: one'),
      message('user', 'two'),
    ],
    7000,
  )
  const history = new History()
  for (const record of records) history.apply(record, 7000)
  t.strictSame(
    history
      .turns()
      .map(({ status, startedAt, completedAt, items }) => [
        status,
        startedAt,
        completedAt,
        items.map(item => (item.type === 'agentMessage' ? item.text : item.type)),
      ]),
    [
      ['completed', 7000, 7000, ['userMessage', 're: one']],
      ['completed', 7000, 7000, ['userMessage']],
    ],
  )
  t.strictSame(
    history.context.map(entry => entry.type),
    ['message', 'message', 'call', 'result', 'text', 'message'],
    'and the model is shown all of it, in order',
  )
  t.equal(history.preview, 'one')
})
