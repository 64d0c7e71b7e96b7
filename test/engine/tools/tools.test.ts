import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import type { Decision } from '../../../src/engine/approvals.ts'
import type { ModelInfo } from '../../../src/engine/models/model.ts'
import { CLIENT_TOOL_INVALID, clientTool } from '../../../src/engine/tools/client-tool.ts'
import { checkClientTools, clientTools } from '../../../src/engine/tools/client-tool-specs.ts'
import { Processes } from '../../../src/engine/tools/processes.ts'
import { Shell } from '../../../src/engine/tools/shell.ts'
import { findTool, toolsFor, unsupported } from '../../../src/engine/tools/tools.ts'
import { updatePlan } from '../../../src/engine/tools/update-plan.ts'
import { call, fakeTurn, textOf } from './fake-context.ts'

t.test('update_plan', async t => {
  const run = async (
    args: unknown,
    mode: 'default' | 'plan' = 'default',
  ): Promise<readonly [string, readonly object[]]> => {
    const { cx, said } = fakeTurn({ mode })
    return [textOf(await updatePlan.run(call('update_plan', args), cx)), said]
  }
  t.same(
    await run({
      explanation: 'why',
      plan: [
        { step: 'one', status: 'in_progress' },
        { step: 'two', status: 'pending' },
      ],
    }),
    [
      'Plan updated',
      [
        {
          say: 'plan',
          explanation: 'why',
          plan: [
            { step: 'one', status: 'inProgress' },
            { step: 'two', status: 'pending' },
          ],
        },
      ],
    ],
  )
  t.same(await run({ plan: [] }), ['Plan updated', [{ say: 'plan', explanation: null, plan: [] }]])
  const bad = async (args: unknown): Promise<string> => (await run(args))[0]
  t.match(await bad({}), /^failed to parse function arguments: missing field `plan`/)
  t.match(await bad({ plan: 'x' }), /expected a sequence/)
  t.match(await bad({ plan: [{ status: 'pending' }] }), /missing field `step`/)
  t.match(await bad({ plan: [{ step: 'x' }] }), /missing field `status`/)
  t.match(
    await bad({ plan: [{ step: 'x', status: 'constructor' }] }),
    /unknown variant `constructor`, expected one of `pending`, `in_progress`, `completed`/,
  )
  t.match(await bad({ plan: [null] }), /missing field `step`/)
  t.same(await run({ plan: [] }, 'plan'), ['update_plan is a TODO/checklist tool and is not allowed in Plan mode', []])
})

t.test('the tools of a client', async t => {
  const fn = (name: string, more: object = {}): object => ({
    type: 'function',
    name,
    description: 'd',
    inputSchema: { type: 'object' },
    ...more,
  })

  t.test('are checked in the words of codex', async t => {
    const ns = (name: string, tools: readonly object[], more: object = {}): object => ({
      type: 'namespace',
      name,
      description: 'd',
      tools,
      ...more,
    })
    const cases: readonly (readonly [readonly unknown[], string | null])[] = [
      [[], null],
      [[fn('lookup')], null],
      [[fn('')], 'dynamic tool name must not be empty'],
      [[fn('  ')], 'dynamic tool name must not be empty'],
      [[{ type: 'function' }], 'dynamic tool name must not be empty'],
      [[fn(' a')], 'dynamic tool name has leading/trailing whitespace:  a'],
      [[fn('bad name')], 'dynamic tool name must match ^[a-zA-Z0-9_-]+$ to match Responses API: bad name'],
      [[fn('ü\n')], 'dynamic tool name has leading/trailing whitespace: \\u{fc}\\n'],
      [
        [fn('x'.repeat(129))],
        `dynamic tool name must be at most 128 characters to match Responses API: ${'x'.repeat(129)}`,
      ],
      [[fn('lookup'), fn('lookup')], 'duplicate dynamic tool name: lookup'],
      [[fn('mcp__x')], 'dynamic tool name is reserved: mcp__x'],
      [[fn('mcp')], 'dynamic tool name is reserved: mcp'],
      [[fn('x', { inputSchema: { type: 'nonsense' } })], null],
      [[ns('ns', [])], 'dynamic tool namespace must contain at least one tool: ns'],
      [[ns('ns', [fn('a')]), ns('ns', [fn('b')])], 'duplicate dynamic tool namespace: ns'],
      [[ns('ns', [fn('a'), fn('a')])], 'duplicate dynamic tool name in namespace ns: a'],
      [[fn('a'), ns('ns', [fn('a', { deferLoading: true })])], null],
      [[ns('web', [fn('a')])], 'dynamic tool namespace collides with a reserved Responses API namespace: web'],
      [[ns('mcp__a', [fn('a')])], 'dynamic tool namespace is reserved: mcp__a'],
      [
        [ns('n', [fn('a')], { description: 'x'.repeat(1_025) })],
        'dynamic tool namespace description must be at most 1024 characters',
      ],
      [[{ name: 'legacy', description: 'd', inputSchema: { type: 'object' } }], null],
      [[fn('deferred', { deferLoading: true })], 'deferred dynamic tool must include a namespace: deferred'],
      [[null], 'dynamic tool must be an object'],
      [[ns('n', [1 as unknown as object])], 'dynamic tool must be an object'],
    ]
    for (const [specs, error] of cases) t.equal(checkClientTools(specs), error)
  })

  t.test('become tools one by one', async t => {
    const specs = [
      fn('a'),
      { type: 'namespace', name: 'ns', description: '', tools: [fn('b', { deferLoading: true })] },
      { name: 'c', inputSchema: {} },
    ]
    t.same(clientTools(specs), [
      { name: 'a', namespace: null, description: 'd', parameters: { type: 'object' }, deferred: false },
      { name: 'b', namespace: 'ns', description: 'd', parameters: { type: 'object' }, deferred: true },
      { name: 'c', namespace: null, description: '', parameters: {}, deferred: false },
    ])
  })

  t.test('are run by the client, whose answer is the result', async t => {
    const [spec] = clientTools([fn('lookup')])
    const tool = clientTool(spec!)
    const item = {
      type: 'clientTool',
      id: 'call_1',
      namespace: null,
      tool: 'lookup',
      arguments: { id: '7' },
      status: 'inProgress',
      content: null,
      success: null,
      durationMs: null,
    }
    const png = `data:image/png;base64,${Buffer.from('89504e470d0a1a0a', 'hex').toString('base64')}`
    const text = (words: string): object => ({ type: 'text', text: words })
    const cases: readonly (readonly [Decision, boolean, readonly object[], readonly object[]])[] = [
      [
        {
          type: 'result',
          success: true,
          content: [
            { type: 'text', text: 'found 7' },
            { type: 'image', url: 'data:image/png;base64,AAAA' },
          ],
        },
        true,
        [text('found 7'), { type: 'image', url: 'data:image/png;base64,AAAA' }],
        [text('found 7'), text('image content omitted because it could not be processed')],
      ],
      [
        { type: 'result', success: true, content: [{ type: 'image', url: png }] },
        true,
        [{ type: 'image', url: png }],
        [{ type: 'image', url: png }],
      ],
      [
        { type: 'result', success: false, content: [{ type: 'text', text: 'nope' }] },
        false,
        [text('nope')],
        [text('nope')],
      ],
      [{ type: 'result', success: true, content: [] }, true, [], []],
      [
        { type: 'decline', message: null },
        false,
        [text('dynamic tool request failed')],
        [text('dynamic tool request failed')],
      ],
      [
        { type: 'decline', message: CLIENT_TOOL_INVALID },
        false,
        [text('dynamic tool response was invalid')],
        [text('dynamic tool response was invalid')],
      ],
      [{ type: 'cancel' }, false, [text('dynamic tool request failed')], [text('dynamic tool request failed')]],
      [{ type: 'accept' }, false, [text('dynamic tool request failed')], [text('dynamic tool request failed')]],
    ]
    for (const [decision, success, content, parts] of cases) {
      const { cx, said } = fakeTurn({}, decision)
      const result = await tool.run(call('lookup', { id: '7' }), cx)
      t.same(result, { parts, isError: !success })
      t.same(said[0], { say: 'started', item })
      t.same(said[1], {
        say: 'ask',
        ask: {
          type: 'clientTool',
          turnId: cx.turnId,
          itemId: 'call_1',
          namespace: null,
          tool: 'lookup',
          arguments: { id: '7' },
        },
      })
      t.match(said[2], {
        say: 'completed',
        item: { ...item, status: success ? 'completed' : 'failed', content, success, durationMs: Number },
      })
    }
    const { cx, said } = fakeTurn({})
    t.match(textOf(await tool.run(call('lookup', '{'), cx)), /^failed to parse function arguments: /)
    t.same(said, [])
    await tool.run(call('lookup', ''), cx)
    t.match(said[0], { item: { arguments: {} } })
  })
})

t.test('the tools of a model', async t => {
  const processes = new Processes()
  const host = { processes, shell: new Shell(processes, {}), umask: 0o022, tmpdir: tmpdir() }
  const model: ModelInfo = {
    id: 'm',
    provider: 'p',
    displayName: 'M',
    description: '',
    efforts: [],
    defaultEffort: 'medium',
    images: false,
    contextWindow: null,
    freeformTools: true,
    known: true,
  }
  const brought = clientTools([
    { name: 'lookup', description: '', inputSchema: {} },
    { name: 'exec_command', description: '', inputSchema: {} },
    {
      type: 'namespace',
      name: 'ns',
      description: '',
      tools: [{ type: 'function', name: 'exec_command', description: '', inputSchema: {} }],
    },
  ])
  const names = (tools: ReturnType<typeof toolsFor>): string[] =>
    tools.map(({ spec }) => `${spec.namespace ?? ''}.${spec.name} ${spec.grammar ? 'freeform' : 'function'}`)

  t.test("are codex's, with those of the client", async t => {
    t.same(names(toolsFor({ host, model, clientTools: [] })), [
      '.exec_command function',
      '.update_plan function',
      '.apply_patch freeform',
    ])
    t.same(
      names(
        toolsFor({ host, model: { ...model, freeformTools: false }, clientTools: brought, command: 'shell_command' }),
      ),
      [
        '.shell_command function',
        '.update_plan function',
        '.apply_patch function',
        '.lookup function',
        '.exec_command function',
        'ns.exec_command function',
      ],
    )
    t.same(
      names(toolsFor({ host, model, clientTools: brought })),
      [
        '.exec_command function',
        '.update_plan function',
        '.apply_patch freeform',
        '.lookup function',
        'ns.exec_command function',
      ],
      'of two with one name ours stays',
    )
  })

  t.test("take the arguments that codex's take", async t => {
    const arguments_ = Object.fromEntries(
      [
        ...toolsFor({ host, model: { ...model, freeformTools: false }, clientTools: [] }),
        ...toolsFor({ host, model, clientTools: [], command: 'shell_command' }),
      ].map(({ spec }) => [
        spec.name,
        spec.parameters ? Object.keys((spec.parameters as { properties: object }).properties) : null,
      ]),
    )
    const escalation = ['sandbox_permissions', 'justification', 'prefix_rule']
    t.same(arguments_, {
      exec_command: ['cmd', 'workdir', 'shell', 'login', 'tty', 'yield_time_ms', 'max_output_tokens', ...escalation],
      shell_command: ['command', 'workdir', 'timeout_ms', 'login', ...escalation],
      update_plan: ['explanation', 'plan'],
      apply_patch: null,
    })
  })

  t.test('are found by name and namespace, and missed in the words of codex', async t => {
    const tools = toolsFor({ host, model, clientTools: brought })
    const find = (name: string, namespace: string | null): unknown =>
      findTool(tools, { ...call(name, {}), namespace })?.spec.namespace
    t.equal(find('exec_command', 'ns'), 'ns')
    t.equal(findTool(tools, call('exec_command', {})), tools[0] ?? null)
    t.equal(findTool(tools, call('nope', {})), null)
    t.equal(findTool(tools, { ...call('lookup', {}), namespace: 'ns' }), null)
    t.equal(textOf(unsupported(call('nope', {}))), 'unsupported call: nope')
    t.equal(textOf(unsupported({ ...call('nope', {}), namespace: 'mcp__tiny' })), 'unsupported call: mcp__tinynope')
  })

  t.test('keep the order of the model, except that commands run side by side', async t => {
    const cwd = t.testdir()
    const shell = new Shell(processes, { PATH: process.env.PATH })
    const tools = toolsFor({ host: { ...host, shell }, model, clientTools: brought })
    const order: string[] = []
    const { cx, said } = fakeTurn({ cwd }, ask => {
      order.push(ask.type)
      return { type: 'decline', message: null }
    })
    const run = async (name: string, args: unknown, label: string): Promise<void> => {
      const tool = findTool(tools, call(name, args))
      await tool?.run({ ...call(name, args), id: label, freeform: name === 'apply_patch' }, cx)
      order.push(label)
    }
    const wait = (file: string): object => ({ cmd: `until [ -e ${file} ]; do sleep 0.02; done` })
    await Promise.all([
      run('exec_command', wait('second'), 'first'),
      run('exec_command', { cmd: 'touch second' }, 'second'),
      run('update_plan', { plan: [] }, 'plan'),
      run('apply_patch', '*** Begin Patch\n*** Add File: patched\n+x\n*** End Patch', 'patch'),
      run('exec_command', { cmd: 'cat patched' }, 'cat'),
      run('lookup', {}, 'lookup'),
    ])
    t.same(order.slice(2), ['plan', 'patch', 'cat', 'clientTool', 'lookup'])
    t.same(order.slice(0, 2).sort(), ['first', 'second'])
    t.match(
      said.find(each => each.say === 'delta'),
      { id: 'cat', delta: 'x\n' },
    )
  })

  t.test('do nothing any more once the turn is interrupted', async t => {
    const tools = toolsFor({ host, model, clientTools: brought })
    const { cx, said, abort } = fakeTurn({ cwd: t.testdir() }, () => {
      abort.abort()
      return { type: 'cancel' }
    })
    const results = await Promise.all(
      ['lookup', 'update_plan', 'lookup'].map(name =>
        findTool(tools, call(name, {}))?.run(call(name, { plan: [] }), cx),
      ),
    )
    t.same(
      said.map(each => each.say),
      ['started', 'ask', 'completed'],
    )
    t.same(results.slice(1), Array(2).fill({ parts: [{ type: 'text', text: 'aborted by user' }], isError: true }))
    await processes.close()
  })

  t.test('have a grammar that knows every marker of a patch', async t => {
    const grammar = toolsFor({ host, model, clientTools: [] }).at(-1)?.spec.grammar ?? ''
    const parser = readFileSync(new URL('../../../src/engine/tools/patch.ts', import.meta.url), 'utf8')
    for (const [, marker] of parser.matchAll(/= '(\*\*\* [A-Z][^']*)'/g))
      t.ok(grammar.includes(`"${marker}`), marker ?? '')
  })
})
