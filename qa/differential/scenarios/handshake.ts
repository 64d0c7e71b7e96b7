import { NOBODY, type Scenario, text } from '../scenario.ts'

const GOLDEN = { name: 'golden', title: 'Golden', version: '1.2.3' }

const GATED_METHODS = [
  'collaborationMode/list',
  'thread/search',
  'thread/turns/list',
  'thread/settings/update',
  'process/spawn',
  'fuzzyFileSearch/sessionStart',
  'remoteControl/status/read',
  'thread/backgroundTerminals/clean',
  'thread/memoryMode/set',
  'memory/reset',
  'mock/experimentalMethod',
  'thread/realtime/listVoices',
  'environment/add',
]

const GRANULAR = {
  sandbox_approval: true,
  rules: true,
  skill_approval: true,
  request_permissions: true,
  mcp_elicitations: true,
}

/** Handshake, malformed input, gates, and threads that are not there. */
export const handshake: readonly Scenario[] = [
  {
    name: 'init-basic',
    about: 'Requests before, during and after initialize; initialize twice; unknown methods and notifications.',
    async run(stage) {
      const client = await stage.stdio()
      await client.askAll([
        ['thread/list', {}],
        ['nope/method', {}],
        ['initialize', {}],
        ['initialize', { clientInfo: { name: 'x' } }],
        ['initialize', { clientInfo: GOLDEN, capabilities: { experimentalApi: 'yes' } }],
        ['initialize', { clientInfo: GOLDEN }],
        ['initialize', { clientInfo: GOLDEN }],
        ['model/list', { limit: 1 }],
      ])
      client.tell('initialized')
      client.tell('bogus/notification', { a: 1 })
      await client.ask('nope/method', {})
      await client.quiet()
    },
  },
  {
    name: 'init-variants',
    about: 'One process each: no title, null capabilities, odd names, opt-outs, a string id.',
    async run(stage) {
      const optOutNotificationMethods = ['remoteControl/status/changed', 'unknown/x']
      for (const params of [
        { clientInfo: { name: 'no-title', version: '9' } },
        { clientInfo: { name: 'null caps', title: null, version: '9.9' }, capabilities: null },
        { clientInfo: { name: 'bad\nname', title: 'T', version: '1' } },
        { clientInfo: { name: '', title: 'T', version: '' } },
        {
          clientInfo: { name: 'codex_vscode', title: 'VS', version: '1.0' },
          capabilities: { experimentalApi: true, optOutNotificationMethods, unknownField: 1 },
        },
      ]) {
        const client = await stage.stdio()
        await client.ask('initialize', params, { id: 'init-1' })
        await client.quiet(300)
        client.end()
      }
    },
  },
  {
    name: 'wire-errors',
    about: 'Lines that are no JSON or no message, kinds of ids, params that are missing, null, a list or wrong.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize({ experimental: false })
      for (const line of [
        '{not json',
        '',
        '[]',
        '[{"id":90,"method":"thread/loaded/list"}]',
        '{"id":91}',
        '{"method":5,"id":92}',
        '{"id":null,"method":"thread/loaded/list"}',
        '{"id":1.5,"method":"thread/loaded/list"}',
        '{"id":999,"result":{}}',
        '{"id":998,"error":{"code":1,"message":"x"}}',
      ]) {
        client.raw(line)
      }
      await client.quiet(300)
      for (const line of [
        '{"jsonrpc":"2.0","id":93,"method":"thread/loaded/list","params":{}}',
        '{"jsonrpc":"2.0","id":94,"method":"thread/loaded/list"}',
        '{"id":95,"method":"thread/loaded/list","params":null}',
        '{"id":"str","method":"thread/loaded/list","params":{}}',
        '{"id":96,"method":"thread/loaded/list","params":{"unknown":1}}',
        '{"id":97,"method":"thread/loaded/list","params":[]}',
        '{"id":98,"method":"thread/loaded/list","params":{"limit":"x"}}',
        '{"id":-5,"method":"thread/loaded/list","params":{"limit":-1}}',
      ]) {
        client.raw(line)
      }
      await client.quiet(300)
      await client.askAll([
        ['turn/start', {}],
        ['turn/start', { threadId: 5, input: [] }],
        ['turn/start', { threadId: 'x', input: [{ type: 'nope' }] }],
        ['turn/start', { threadId: 'x', input: [{ text: 'no type' }] }],
        ['turn/start'],
        ['thread/start', { approvalPolicy: 'bogus' }],
        ['thread/start', { sandbox: 'workspaceWrite' }],
        ['thread/start', { cwd: 5 }],
        ['thread/list', { sortKey: 'bogus' }],
        ['thread/read', { threadId: null }],
        ['config/value/write', { keyPath: 'a' }],
        ['fs/readFile', { path: 'relative' }],
        ['turn/interrupt', { threadId: 'x' }],
      ])
    },
  },
  {
    name: 'experimental-gate',
    about: 'Experimental methods, and experimental fields of stable ones, without the capability.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize({ experimental: false })
      const onTurn = (more: object): readonly [string, object] => ['turn/start', { threadId: 'x', input: [], ...more }]
      await client.askAll([
        ...GATED_METHODS.map(method => [method, {}] as const),
        ['thread/search', { searchTerm: 'x' }],
        ['mock/experimentalMethod', { value: 'x' }],
        ['collaborationMode/list'],
        ['thread/start', { mockExperimentalField: 'x' }],
        ['thread/start', { dynamicTools: [] }],
        ['thread/start', { experimentalRawEvents: true }],
        ['thread/start', { experimentalRawEvents: false }],
        ['thread/start', { runtimeWorkspaceRoots: ['/tmp'] }],
        ['thread/start', { permissions: 'x' }],
        ['thread/start', { environments: [] }],
        ['thread/start', { approvalPolicy: { granular: GRANULAR } }],
        ['thread/resume', { threadId: 'x', path: '/x' }],
        ['thread/resume', { threadId: 'x', history: [] }],
        ['thread/resume', { threadId: 'x', excludeTurns: true }],
        ['thread/resume', { threadId: 'x', initialTurnsPage: {} }],
        ['thread/fork', { threadId: 'x', path: '/x' }],
        ['thread/fork', { threadId: 'x', excludeTurns: true }],
        onTurn({ collaborationMode: { mode: 'plan', settings: { model: 'm' } } }),
        onTurn({ additionalContext: {} }),
        onTurn({ responsesapiClientMetadata: {} }),
        onTurn({ permissions: 'p' }),
        ['command/exec', { command: ['true'], permissionProfile: ':read-only' }],
        ['config/read', {}],
      ])
    },
  },
  {
    name: 'experimental-on',
    about: 'The same gates with the capability.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      await client.askAll([
        ['mock/experimentalMethod', { value: 'x' }],
        ['mock/experimentalMethod', {}],
        ['collaborationMode/list', {}],
        ['thread/realtime/listVoices', {}],
        ['remoteControl/status/read'],
        ['memory/reset'],
      ])
    },
  },
  {
    name: 'unknown-threads',
    about: 'Every method on threads, with an id that is no UUID and with one that no thread has.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      for (const threadId of ['bogus', NOBODY]) {
        const on = (method: string, more: object = {}): readonly [string, object] => [method, { threadId, ...more }]
        await client.askAll([
          on('thread/read'),
          on('thread/read', { includeTurns: true }),
          on('thread/resume'),
          on('thread/fork'),
          on('thread/archive'),
          on('thread/unarchive'),
          on('thread/delete'),
          on('thread/unsubscribe'),
          on('thread/name/set', { name: 'n' }),
          on('thread/metadata/update', { gitInfo: { branch: 'b' } }),
          on('thread/rollback', { numTurns: 1 }),
          on('thread/compact/start'),
          on('thread/shellCommand', { command: 'true' }),
          on('thread/inject_items', { items: [] }),
          on('thread/goal/get'),
          on('thread/goal/set', { objective: 'x' }),
          on('thread/goal/clear'),
          on('thread/turns/list'),
          on('thread/turns/items/list', { turnId: NOBODY }),
          on('thread/settings/update', { model: 'm' }),
          on('thread/memoryMode/set', { mode: 'disabled' }),
          on('thread/backgroundTerminals/list'),
          on('thread/backgroundTerminals/clean'),
          on('thread/backgroundTerminals/terminate', { processId: '1' }),
          on('turn/start', { input: text('x') }),
          on('turn/steer', { expectedTurnId: NOBODY, input: text('x') }),
          on('turn/interrupt', { turnId: NOBODY }),
          on('review/start', { target: { type: 'uncommittedChanges' } }),
        ])
      }
      await client.quiet()
    },
  },
]
