import { Ajv, type ValidateFunction } from 'ajv'
import t from 'tap'
import { methodsOf, PINS, type Pin, readPin } from '../../scripts/codex/pin.ts'
import { readShapes } from '../../scripts/codex/read-shapes.ts'
import { clientRequests, serverRequests } from '../../src/protocol/codex/methods.gen.ts'
import { checkParams, checkReply } from '../../src/protocol/codex/params.ts'
import { paramsShapes } from '../../src/protocol/codex/shapes.gen.ts'
import { sample, seeded, spoil } from './samples.ts'

/** Requests that codex 0.142.5 was seen to refuse, and its words after `Invalid request: `. */
const MEASURED: readonly (readonly [method: string, params: unknown, text: string])[] = [
  ['initialize', {}, 'missing field `clientInfo`'],
  ['initialize', { clientInfo: { name: 'x' } }, 'missing field `version`'],
  [
    'initialize',
    { clientInfo: { name: 'golden', title: 'Golden', version: '1.2.3' }, capabilities: { experimentalApi: 'yes' } },
    'invalid type: string "yes", expected a boolean',
  ],
  ['initialize', { clientInfo: 5 }, 'invalid type: integer `5`, expected struct ClientInfo'],
  ['thread/search', {}, 'missing field `searchTerm`'],
  ['thread/turns/list', {}, 'missing field `threadId`'],
  ['thread/settings/update', {}, 'missing field `threadId`'],
  ['process/spawn', {}, 'missing field `command`'],
  ['fuzzyFileSearch/sessionStart', {}, 'missing field `sessionId`'],
  ['thread/backgroundTerminals/clean', {}, 'missing field `threadId`'],
  ['thread/memoryMode/set', {}, 'missing field `threadId`'],
  ['environment/add', {}, 'missing field `environmentId`'],
  ['collaborationMode/list', undefined, 'missing field `params`'],
  ['thread/loaded/list', undefined, 'missing field `params`'],
  ['thread/loaded/list', null, 'missing field `params`'],
  ['thread/loaded/list', 5, 'invalid type: integer `5`, expected struct ThreadLoadedListParams'],
  ['thread/loaded/list', 'x', 'invalid type: string "x", expected struct ThreadLoadedListParams'],
  ['thread/loaded/list', 1.5, 'invalid type: floating point `1.5`, expected struct ThreadLoadedListParams'],
  ['thread/loaded/list', [], 'invalid length 0, expected struct ThreadLoadedListParams with 2 elements'],
  ['thread/loaded/list', ['a'], 'invalid length 1, expected struct ThreadLoadedListParams with 2 elements'],
  ['thread/loaded/list', [5], 'invalid type: integer `5`, expected a string'],
  ['thread/loaded/list', ['a', 5, 6], 'invalid length 3, expected 2 elements in sequence'],
  ['collaborationMode/list', [1], 'invalid length 1, expected 0 elements in sequence'],
  ['thread/loaded/list', { limit: 'x' }, 'invalid type: string "x", expected u32'],
  ['thread/loaded/list', { limit: 'é"' }, 'invalid type: string "é\\"", expected u32'],
  ['thread/loaded/list', { limit: -1 }, 'invalid value: integer `-1`, expected u32'],
  ['thread/loaded/list', { limit: 4_294_967_296 }, 'invalid value: integer `4294967296`, expected u32'],
  ['thread/loaded/list', { limit: 1.5 }, 'invalid type: floating point `1.5`, expected u32'],
  ['thread/loaded/list', { limit: true }, 'invalid type: boolean `true`, expected u32'],
  ['thread/loaded/list', { limit: [] }, 'invalid type: sequence, expected u32'],
  ['thread/loaded/list', { limit: {} }, 'invalid type: map, expected u32'],
  ['command/exec', { command: ['a'], size: { rows: 70_000, cols: 1 } }, 'invalid value: integer `70000`, expected u16'],
  ['command/exec', { command: ['a'], cwd: 5 }, 'invalid type: integer `5`, expected path string'],
  ['command/exec', { command: ['a'], env: { a: 5 } }, 'invalid type: integer `5`, expected a string'],
  ['turn/start', undefined, 'missing field `params`'],
  ['turn/start', {}, 'missing field `threadId`'],
  ['turn/start', { threadId: 5, input: [] }, 'invalid type: integer `5`, expected a string'],
  ['turn/start', { threadId: 5, input: 5 }, 'invalid type: integer `5`, expected a string'],
  ['turn/start', { input: 5, threadId: 5 }, 'invalid type: integer `5`, expected a sequence'],
  ['turn/start', { threadId: 'x', input: {} }, 'invalid type: map, expected a sequence'],
  [
    'turn/start',
    { threadId: 'x', input: [{ type: 'nope' }] },
    'unknown variant `nope`, expected one of `text`, `image`, `localImage`, `skill`, `mention`',
  ],
  [
    'turn/start',
    { threadId: 'x', input: [{ text: 5, type: 'nope' }] },
    'unknown variant `nope`, expected one of `text`, `image`, `localImage`, `skill`, `mention`',
  ],
  ['turn/start', { threadId: 'x', input: [{ text: 'no type' }] }, 'missing field `type`'],
  ['turn/start', { threadId: 'x', input: [[]] }, 'missing field `type`'],
  [
    'turn/start',
    { threadId: 'x', input: ['x'] },
    'invalid type: string "x", expected internally tagged enum UserInput',
  ],
  ['turn/start', { threadId: 'x', input: [{ type: null }] }, 'invalid type: null, expected variant identifier'],
  [
    'turn/start',
    { threadId: 'x', input: [{ type: 5 }] },
    'invalid value: integer `5`, expected variant index 0 <= i < 5',
  ],
  ['turn/start', { threadId: 'x', input: [{ type: 'text' }] }, 'missing field `text`'],
  [
    'turn/start',
    { threadId: 'x', input: [{ type: 'text', text: 'a', text_elements: null }] },
    'invalid type: null, expected a sequence',
  ],
  [
    'turn/start',
    { threadId: 'x', input: [{ type: 'text', text: 'x' }], sandboxPolicy: { type: 'bogus' } },
    'unknown variant `bogus`, expected one of `dangerFullAccess`, `readOnly`, `externalSandbox`, `workspaceWrite`',
  ],
  [
    'turn/start',
    { threadId: 'x', input: [], sandboxPolicy: { type: 'workspaceWrite', writableRoots: ['rel'] } },
    'AbsolutePathBuf deserialized without a base path',
  ],
  [
    'turn/start',
    { threadId: 'x', input: [], sandboxPolicy: { type: 'externalSandbox', networkAccess: 'zz' } },
    'unknown variant `zz`, expected `restricted` or `enabled`',
  ],
  [
    'turn/start',
    { threadId: 'x', input: [], collaborationMode: { mode: 'plan', settings: {} } },
    'missing field `model`',
  ],
  ['turn/interrupt', { threadId: 'x' }, 'missing field `turnId`'],
  [
    'thread/start',
    { approvalPolicy: 'bogus' },
    'unknown variant `bogus`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`',
  ],
  ['thread/start', { approvalPolicy: 5 }, 'invalid type: integer `5`, expected string or map'],
  ['thread/start', { approvalPolicy: [] }, 'invalid type: sequence, expected string or map'],
  ['thread/start', { approvalPolicy: {} }, 'invalid value: map, expected map with a single key'],
  [
    'thread/start',
    { approvalPolicy: { never: null, granular: 1 } },
    'invalid value: map, expected map with a single key',
  ],
  ['thread/start', { approvalPolicy: { never: 5 } }, 'invalid type: integer `5`, expected unit'],
  ['thread/start', { approvalPolicy: 'granular' }, 'invalid type: unit variant, expected struct variant'],
  ['thread/start', { approvalPolicy: { granular: null } }, 'invalid type: null, expected struct variant'],
  ['thread/start', { approvalPolicy: { granular: {} } }, 'missing field `sandbox_approval`'],
  [
    'thread/start',
    { approvalPolicy: { granular: [] } },
    'invalid length 0, expected struct variant AskForApproval::Granular with 5 elements',
  ],
  [
    'thread/start',
    { sandbox: 'workspaceWrite' },
    'unknown variant `workspaceWrite`, expected one of `read-only`, `workspace-write`, `danger-full-access`',
  ],
  ['thread/start', { cwd: 5 }, 'invalid type: integer `5`, expected a string'],
  ['thread/start', { config: [] }, 'invalid type: sequence, expected a map'],
  ['thread/start', { experimentalRawEvents: null }, 'invalid type: null, expected a boolean'],
  ['thread/start', { dynamicTools: [{ name: 'untyped' }] }, 'missing field `description`'],
  ['thread/start', { dynamicTools: [{ type: 'zzz' }] }, 'unknown variant `zzz`, expected `function` or `namespace`'],
  [
    'thread/list',
    { sortKey: 'bogus' },
    'unknown variant `bogus`, expected one of `created_at`, `updated_at`, `recency_at`',
  ],
  [
    'thread/list',
    { sourceKinds: ['bogus'] },
    'unknown variant `bogus`, expected one of `cli`, `vscode`, `exec`, `appServer`, `subAgent`, `subAgentReview`, `subAgentCompact`, `subAgentThreadSpawn`, `subAgentOther`, `unknown`',
  ],
  ['thread/list', { cwd: [5] }, 'data did not match any variant of untagged enum ThreadListCwdFilter'],
  ['thread/read', { threadId: null }, 'invalid type: null, expected a string'],
  ['thread/resume', { threadId: 'x', history: [{ type: 'message' }] }, 'missing field `role`'],
  ['thread/resume', { threadId: 'x', path: 5 }, 'invalid type: integer `5`, expected path string'],
  ['config/value/write', { keyPath: 'a' }, 'missing field `value`'],
  ['config/value/write', { keyPath: 'a', value: null }, 'missing field `mergeStrategy`'],
  ['fs/readFile', { path: 'relative' }, 'AbsolutePathBuf deserialized without a base path'],
  ['fs/readFile', { path: '~/x' }, 'AbsolutePathBuf deserialized without a base path'],
  ['fs/readFile', { path: 5 }, 'invalid type: integer `5`, expected path string'],
  [
    'account/login/start',
    { type: 'bogus' },
    'unknown variant `bogus`, expected one of `apiKey`, `chatgpt`, `chatgptDeviceCode`, `chatgptAuthTokens`',
  ],
  ['remoteControl/enable', 5, 'invalid type: integer `5`, expected struct RemoteControlEnableParams'],
]

t.test('it refuses params in the words of codex', async t => {
  const said = MEASURED.map(([method, params]) => [method, params, checkParams(method, params)])
  t.same(said, MEASURED)
})

t.test('it accepts', async t => {
  const accepted: readonly (readonly [string, unknown])[] = [
    ['thread/loaded/list', {}],
    ['thread/loaded/list', { unknown: 1 }],
    ['thread/loaded/list', { limit: 4_294_967_295, cursor: null }],
    ['memory/reset', undefined],
    ['memory/reset', {}],
    ['memory/reset', [1]],
    ['remoteControl/enable', undefined],
    ['remoteControl/enable', null],
    ['remoteControl/enable', {}],
    ['account/rateLimits/read', undefined],
    ['thread/start', { approvalPolicy: 'on-failure' }],
    ['thread/start', { historyMode: 'legacy', projectId: null }],
    ['thread/start', { cwd: 'relative' }],
    ['thread/start', { dynamicTools: [{ name: 'untyped', description: '', inputSchema: {} }] }],
    ['thread/list', { cwd: '/a' }],
    ['thread/list', { cwd: ['/a', '/b'] }],
    ['turn/start', { threadId: 'x', input: [{ type: 'image', url: 'u', detail: null }] }],
    ['turn/start', { threadId: 'x', input: [{ type: 'image', fileId: 'f' }] }],
    ['thread/resume', { threadId: 'x', history: [{ type: 'a kind of a later version' }] }],
    ['thread/goal/set', { threadId: 'x', tokenBudget: 9_007_199_254_740_992 }],
    ['getAuthStatus', {}],
  ]
  for (const [method, params] of accepted)
    t.equal(checkParams(method, params), null, `${method} ${JSON.stringify(params)}`)
})

t.test('it lists a newer method by its own pin', async t => {
  t.equal(checkParams('thread/revert', {}), 'missing field `threadId`')
  t.equal(checkParams('userVerification/status', { zz: 1 }), 'unknown field `zz`, there are no fields')
})

t.test('it takes no key for what every object inherits', async t => {
  const hostile = JSON.parse('{"threadId":"x","input":[],"__proto__":{"polluted":5},"constructor":5,"toString":1}')
  t.equal(checkParams('turn/start', hostile), null)
  t.equal(checkParams('thread/read', JSON.parse('{"__proto__":{"threadId":"x"}}')), 'missing field `threadId`')
  t.match(
    checkParams('turn/start', { threadId: 'x', input: [{ type: 'constructor' }] }),
    /^unknown variant `constructor`/,
  )
  t.match(checkParams('thread/start', { approvalPolicy: 'toString' }), /^unknown variant `toString`/)
  t.match(
    checkParams('thread/start', { approvalPolicy: JSON.parse('{"__proto__":{}}') }),
    /^unknown variant `__proto__`/,
  )
  t.notOk('polluted' in {})
})

t.test('it throws on a method of no pin', async t => {
  t.throws(() => checkParams('nope/method', {}), { message: 'nope/method is in no pin' })
  t.throws(() => checkParams('constructor', {}))
  t.throws(() => checkReply('thread/start', {}), { message: 'thread/start is no server request' })
})

t.test('it takes text and depth of any size', async t => {
  const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`)
  t.equal(checkParams('config/value/write', { keyPath: 'a', value: deep, mergeStrategy: 'replace' }), null)
  t.match(checkParams('turn/start', { threadId: 'x', input: deep }), /^invalid type: sequence/)
  t.match(checkParams('thread/read', { threadId: ['x'.repeat(1e6)] }), 'invalid type: sequence, expected a string')
})

t.test('it checks the replies to our requests', async t => {
  const checked = [
    checkReply('item/commandExecution/requestApproval', { decision: 'accept' }),
    checkReply('item/commandExecution/requestApproval', {
      decision: { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['git'] } },
    }),
    checkReply('item/commandExecution/requestApproval', {}),
    checkReply('item/fileChange/requestApproval', { decision: 'approve' }),
    checkReply('item/tool/requestUserInput', null),
    checkReply('currentTime/read', { currentTimeAt: 'now' }),
  ]
  t.same(checked, [
    null,
    null,
    'missing field `decision`',
    'unknown variant `approve`, expected one of `accept`, `acceptForSession`, `decline`, `cancel`',
    'invalid type: null, expected struct ToolRequestUserInputResponse',
    'invalid type: string "now", expected i64',
  ])
  for (const methods of Object.values(serverRequests))
    for (const method of methods) t.type(checkReply(method, 5), 'string', method)
})

/** Validators made by a general library from a pin's own schema, which say whether params are valid there. */
function oracle({ experimental, version }: Pin): (method: string) => ValidateFunction | undefined {
  const ajv = new Ajv({ strict: false, validateSchema: false, inlineRefs: false })
  const ranges = {
    uint8: 256,
    uint16: 65_536,
    uint32: 2 ** 32,
    uint64: 2 ** 64,
    uint: 2 ** 64,
    int32: 2 ** 31,
    int64: 2 ** 63,
  }
  for (const [name, above] of Object.entries(ranges)) {
    const below = name.startsWith('u') ? -1 : -above - 1
    ajv.addFormat(name, { type: 'number', validate: number => number > below && number < above })
  }
  ajv.addFormat('double', true)
  const { ClientRequest: _, ...types } = experimental.definitions
  const definitions = { ...types, AbsolutePathBuf: { type: 'string', pattern: '^/' } }
  ajv.addSchema({ $id: version, definitions }, 'pin')
  return method => {
    const params = methodsOf(experimental, 'ClientRequest').get(method)
    return params === undefined
      ? undefined
      : ajv.compile(JSON.parse(JSON.stringify(params).replaceAll('"#/', '"pin#/')))
  }
}

t.test('it agrees with the schemas of both pins on samples and spoilt samples', async t => {
  const random = seeded(20_260_101)
  const pins = PINS.map(readPin)
  const shapes = pins.map(pin => readShapes(pin, 'received'))
  const validators = pins.map(oracle)
  const verdicts = { accepted: 0, refused: 0, divided: 0 }
  for (const [method, { paramless }] of clientRequests) {
    const shape = paramsShapes.get(method)
    if (paramless || shape === undefined) continue
    const known = validators.map(validator => validator(method)).filter(validate => validate !== undefined)
    for (let round = 0; round < 40; round++) {
      const names = shapes[round % 2] ?? {}
      const root = (typeof shape === 'string' ? shape : (shape as { option: string }).option).slice(1)
      if (names[root] === undefined) continue
      const fitting = sample(`#${root}`, names, random) as Record<string, unknown>
      // Items of a later version are accepted there although the schemas do not list them.
      if (method === 'thread/resume') delete fitting.history
      // Tools that do not say what they are are functions, which the schemas do not tell.
      if (method === 'thread/start') delete fitting.dynamicTools
      for (const params of [fitting, spoil(fitting, random)]) {
        if (params === null) continue
        const valid = known.map(validate => validate(params))
        const ours = checkParams(method, params)
        // A field that only one pin knows must fit that pin, though the other would ignore it.
        if (valid.includes(true) && valid.includes(false)) verdicts.divided++
        else if ((ours === null) !== valid[0]) t.fail(`${method} ${JSON.stringify(params)}: ${ours}`)
        else verdicts[valid[0] ? 'accepted' : 'refused']++
      }
    }
  }
  t.ok(verdicts.accepted > 5000 && verdicts.refused > 2000, JSON.stringify(verdicts))
  t.ok(verdicts.divided < verdicts.refused / 4, JSON.stringify(verdicts))
})
