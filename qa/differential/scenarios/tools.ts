import { dig, digText } from '../../kit/dig.ts'
import type { Step } from '../../mock/step.ts'
import { PIXEL, type Scenario, text } from '../scenario.ts'
import type { Message, Talker } from '../talker.ts'
import { tinyServer } from '../tiny-config.ts'
import { begin, plain } from './turns.ts'

const ELICITATION = 'mcpServer/elicitation/request'

const tiny = (name: string, args: object = {}): Step => ({
  calls: [{ name, namespace: 'mcp__tiny', args: { ...args } }],
})

const shell = (command: string): Step => ({ calls: [{ name: 'shell_command', args: { command } }] })

const OLD_SHELL = { features: 'unified_exec = false' }

const LOOKUP = {
  type: 'function',
  name: 'lookup',
  description: 'Look up',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } } },
}

const lookup = (id: string): Step => ({ calls: [{ name: 'lookup', args: { id } }] })

/** Waits until an MCP server has come to that state. */
function status(client: Talker, wanted: string): Promise<Message> {
  return client.until(
    message => message.method === 'mcpServer/startupStatus/updated' && dig(message, 'params.status') === wanted,
  )
}

/** The model asks the person one question. */
const ask = (first: string): Step => ({
  calls: [
    {
      name: 'request_user_input',
      args: {
        questions: [
          {
            id: 'q1',
            header: 'Pick',
            question: 'Which?',
            options: [
              { label: first, description: 'a' },
              { label: 'B', description: 'b' },
            ],
          },
        ],
      },
    },
  ],
})

const inMode = (mode: string): object => ({
  collaborationMode: { mode, settings: { model: 'gpt-5.4', reasoning_effort: null, developer_instructions: 'short' } },
})

const refusal = (action: string): object => ({ action, content: null, _meta: null })

const bare = (more: object): object => ({ type: 'function', description: '', ...more })

/** Tools: MCP servers, tools the client runs, questions, the old shell tool, patches in commands. */
export const tools: readonly Scenario[] = [
  {
    name: 'mcp-tools',
    about: 'An MCP server: start, calls that succeed, fail and do not exist, listing, direct calls, resources.',
    script: [tiny('echo', { text: 'hey' }), tiny('fail'), tiny('progress'), tiny('nope'), { say: ['done'] }],
    setting: { tables: tinyServer() },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await status(client, 'ready')
      await client.quiet()
      await stage.turn(client, threadId, 'go')
      await client.quiet()
      await client.askAll([
        ['mcpServerStatus/list', {}],
        ['mcpServerStatus/list', { threadId, detail: 'toolsAndAuthOnly', limit: 1 }],
        ['mcpServer/tool/call', { threadId, server: 'tiny', tool: 'echo', arguments: { text: 'direct' } }],
        ['mcpServer/tool/call', { threadId, server: 'tiny', tool: 'fail' }],
        ['mcpServer/tool/call', { threadId, server: 'nope', tool: 'echo' }],
        ['mcpServer/resource/read', { threadId, server: 'tiny', uri: 'tiny://a' }],
        ['mcpServer/resource/read', { server: 'nope', uri: 'tiny://a' }],
        ['config/mcpServer/reload'],
        ['thread/read', { threadId, includeTurns: true }],
      ])
    },
  },
  {
    name: 'mcp-broken',
    about: 'An MCP server that cannot start.',
    script: [{ say: ['ok'] }],
    setting: { tables: '\n[mcp_servers.broken]\ncommand = "/nonexistent/mcp"\n' },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await status(client, 'failed')
      await client.quiet()
      await stage.turn(client, threadId, 'go')
      await client.quiet()
    },
  },
  {
    name: 'mcp-approval',
    about: 'A tool that writes asks first: accepted, then declined.',
    script: [tiny('write'), { say: ['done'] }, tiny('write'), { say: ['done2'] }],
    setting: { tables: tinyServer(), approval: 'on-request', sandbox: 'workspace-write' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      let asked = 0
      client.reply(ELICITATION, () => refusal(asked++ > 0 ? 'decline' : 'accept'))
      client.reply('item/tool/requestUserInput', request => {
        const questions = dig(request, 'params.questions') as readonly Record<string, unknown>[]
        const label = (question: unknown): unknown => dig(question, 'options.0.label') ?? 'Allow'
        return { answers: Object.fromEntries(questions.map(q => [q.id, { answers: [label(q)] }])) }
      })
      const threadId = await stage.thread(client)
      await status(client, 'ready')
      await stage.turn(client, threadId, 'go')
      await stage.turn(client, threadId, 'go2')
      await client.quiet()
    },
  },
  {
    name: 'mcp-elicitation-accept',
    about: 'A tool asks the person and gets an answer.',
    script: [tiny('ask'), { say: ['done'] }],
    setting: { tables: tinyServer(), approval: 'on-request' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply(ELICITATION, () => ({ action: 'accept', content: { name: 'Ann' }, _meta: null }))
      const threadId = await stage.thread(client)
      await status(client, 'ready')
      await stage.turn(client, threadId, 'go')
      await client.quiet()
    },
  },
  {
    name: 'mcp-elicitation-decline',
    about: 'A tool asks the person, who declines, and the second time cancels.',
    script: [tiny('ask'), { say: ['done'] }, tiny('ask'), { say: ['done2'] }],
    setting: { tables: tinyServer(), approval: 'on-request' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      let asked = 0
      client.reply(ELICITATION, () => refusal(asked++ > 0 ? 'cancel' : 'decline'))
      const threadId = await stage.thread(client)
      await status(client, 'ready')
      await stage.turn(client, threadId, 'go')
      await stage.turn(client, threadId, 'go2')
      await client.quiet()
    },
  },
  {
    name: 'dynamic-tool',
    about: 'A tool the client runs: success, failure, an error, nonsense.',
    script: [lookup('7'), lookup('8'), lookup('9'), lookup('10'), { say: ['done'] }],
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const found = [
        { type: 'inputText', text: 'found 7' },
        { type: 'inputImage', imageUrl: 'data:image/png;base64,AAAA' },
      ]
      const answers = [
        { contentItems: found, success: true },
        { contentItems: [{ type: 'inputText', text: 'nope' }], success: false },
        null,
        { nonsense: true },
      ]
      client.reply('item/tool/call', request => {
        const answer = answers.shift()
        if (answer !== null) return answer
        client.refuse(request, -32000, 'boom')
        return undefined
      })
      const threadId = await stage.thread(client, { dynamicTools: [LOOKUP] })
      await stage.turn(client, threadId, 'go')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'dynamic-tool-invalid',
    about: 'Descriptions of tools that are refused.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const inputSchema = { type: 'object' }
      for (const dynamicTools of [
        [bare({ name: '', inputSchema: {} })],
        [bare({ name: 'bad name', inputSchema })],
        [LOOKUP, LOOKUP],
        [bare({ name: 'mcp__x', inputSchema })],
        [bare({ name: 'x', inputSchema: { type: 'nonsense' } })],
        [{ type: 'namespace', name: 'ns', description: 'd', tools: [] }],
        [{ name: 'legacy', description: 'd', inputSchema }],
        [bare({ name: 'deferred', inputSchema, deferLoading: true })],
      ]) {
        await client.ask('thread/start', { cwd: stage.cwd, dynamicTools })
        await client.quiet(100)
      }
    },
  },
  {
    name: 'request-user-input',
    about: 'The model asks a question in plan mode; in the default mode it may not.',
    script: [ask('A (Recommended)'), { say: ['thanks'] }, ask('A'), { say: ['refused'] }],
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply('item/tool/requestUserInput', () => ({ answers: { q1: { answers: ['B', 'user_note: hi'] } } }))
      const threadId = await stage.thread(client)
      for (const mode of ['plan', 'default']) {
        await stage.turn(client, threadId, 'go', inMode(mode))
        await client.quiet()
      }
    },
  },
  {
    name: 'request-user-input-interrupt',
    about: 'Interrupting while a question is open.',
    script: [ask('A'), { say: ['x'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go'), ...inMode('plan') })
      await client.until('item/tool/requestUserInput')
      await client.quiet(200)
      await client.ask('turn/interrupt', { threadId, turnId: digText(started, 'result.turn.id') })
      await client.until('turn/completed')
      await client.quiet()
    },
  },
  plain(
    'view-image',
    'A picture the model looks at, and a search of the web.',
    [
      { calls: [{ name: 'view_image', args: { path: 'p.png' } }] },
      { say: ['seen'] },
      {
        items: [
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'weather' },
          },
        ],
        say: ['searched'],
      },
    ],
    { setting: { files: { 'p.png': Buffer.from(PIXEL, 'base64') } }, turns: ['go', 'web'] },
  ),
  plain('unknown-tool', 'A tool that is not there, and one called badly.', [
    { calls: [{ name: 'nope', args: {} }] },
    { calls: [{ name: 'exec_command', args: { bogus: 1 } }] },
    { say: ['ok'] },
  ]),
  plain(
    'shell-tool',
    'The older shell tool.',
    [shell('echo hi; sleep 0.2; echo err >&2'), shell('exit 3'), { say: ['ok'] }],
    { setting: OLD_SHELL, turns: ['run'], read: true },
  ),
  {
    name: 'shell-tool-approval',
    about: 'The older shell tool asks: accepted, declined, and a command that needs no asking.',
    script: [shell('touch a'), shell('touch b'), shell('ls'), { say: ['ok'] }],
    setting: { ...OLD_SHELL, approval: 'untrusted', sandbox: 'workspace-write' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      let asked = 0
      client.reply('item/commandExecution/requestApproval', () => ({ decision: asked++ > 0 ? 'decline' : 'accept' }))
      await stage.turn(client, await stage.thread(client), 'run')
      await client.quiet(400)
    },
  },
  {
    name: 'shell-tool-interrupt',
    about: 'The older shell tool, interrupted.',
    script: [shell('echo begun; sleep 30'), { say: ['later'] }],
    setting: OLD_SHELL,
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('go') })
      await client.untilOrNull('item/commandExecution/outputDelta', { timeoutMs: 5000 })
      await stage.sleep(200)
      await client.ask('turn/interrupt', { threadId, turnId: digText(started, 'result.turn.id') })
      await client.until('turn/completed')
      await client.quiet(600)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  plain('patch-heredoc', 'A patch inside a command.', [
    {
      calls: [
        {
          name: 'exec_command',
          args: { cmd: "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: h.txt\n+x\n*** End Patch\nEOF" },
        },
      ],
    },
    { say: ['ok'] },
  ]),
  plain(
    'patch-multi',
    'One patch that adds, moves and deletes.',
    [
      {
        custom: {
          name: 'apply_patch',
          input:
            '*** Begin Patch\n*** Add File: n.txt\n+x\n*** Update File: a.txt\n*** Move to: moved.txt\n' +
            '@@\n-one\n+ONE\n two\n*** Delete File: b.txt\n*** End Patch\n',
        },
      },
      { say: ['ok'] },
    ],
    { setting: { files: { 'a.txt': 'one\ntwo\n', 'b.txt': 'bye\n' } } },
  ),
  plain(
    'parallel-tools',
    'Two calls in one response.',
    [
      {
        calls: [
          { name: 'shell_command', args: { command: 'sleep 0.3; echo one' } },
          { name: 'update_plan', args: { plan: [{ step: 's', status: 'pending' }] } },
        ],
      },
      { say: ['ok'] },
    ],
    { setting: OLD_SHELL },
  ),
  plain(
    'message-then-tool',
    'A remark and a call in one response, then the answer.',
    [
      { ...shell('echo hi'), say: ['Looking'], phase: 'commentary' },
      { say: ['Answer'], phase: 'final_answer' },
    ],
    { setting: OLD_SHELL, read: true },
  ),
  {
    name: 'elicitation-counter',
    about: 'The counter of open elicitations.',
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.askAll([
        ['thread/increment_elicitation', { threadId }],
        ['thread/decrement_elicitation', { threadId }],
        ['thread/decrement_elicitation', { threadId }],
      ])
    },
  },
]
