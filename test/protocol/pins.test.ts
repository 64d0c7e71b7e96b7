import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { generateProtocol } from '../../scripts/codex/generate.ts'
import { DIRECTIONS, methodsOf, PINS, pinFolder, readPin } from '../../scripts/codex/pin.ts'
import {
  clientRequests,
  experimentalNotifications,
  experimentalVariants,
  isClientRequest,
  primaryMethods,
  serverNotifications,
  serverRequests,
} from '../../src/protocol/codex/methods.gen.ts'
import { PINS as RUNTIME_PINS } from '../../src/protocol/codex/pin.ts'
import { paramsShapes, replyShapes, shapes } from '../../src/protocol/codex/shapes.gen.ts'

t.test('it keeps the vendored files as they were exported', async t => {
  for (const version of PINS) {
    const read = (file: string) => readFileSync(new URL(file, pinFolder(version)), 'utf8')
    const pin = JSON.parse(read('PIN.json'))
    const hashes = Object.keys(pin.files).map(file => [file, createHash('sha256').update(read(file)).digest('hex')])
    t.same(Object.fromEntries(hashes), pin.files, version)
    t.equal(pin.version, version)
    const { experimental, stable } = readPin(version)
    for (const [name, bundle] of Object.entries({ stable, experimental })) {
      const counts = DIRECTIONS.map(direction => [direction, methodsOf(bundle, direction).size])
      t.match(pin.counts[name], Object.fromEntries(counts), `${version} ${name}`)
    }
    const text = read('experimental.schema.json')
    t.equal(/"\$schema":"|definitions\/v2\//.test(text), false, 'neither prose nor namespaces are left')
  }
})

t.test('it has generated what the pins give, and gives the same again', async t => {
  const once = generateProtocol()
  for (const [file, text] of once)
    t.equal(readFileSync(new URL(`../../src/protocol/codex/${file}`, import.meta.url), 'utf8') === text, true, file)
  t.same([...generateProtocol()], [...once])
})

t.test('it answers for the pins it generates from', async t => {
  t.same(RUNTIME_PINS, PINS)
})

t.test('it knows which pins have a client request', async t => {
  const pinsOf = (method: string) => clientRequests.get(method)?.pins
  t.same(pinsOf('turn/start'), ['0.142.5', '0.171.0'])
  t.same(pinsOf('thread/rollback'), ['0.142.5'])
  t.same(pinsOf('thread/revert'), ['0.171.0'])
  t.same(pinsOf('getAuthStatus'), ['0.142.5', '0.171.0'])
  t.equal(pinsOf('constructor'), undefined)
  t.equal(isClientRequest('thread/start'), true)
  t.equal(isClientRequest('nope/method'), false)
  t.equal(isClientRequest('__proto__'), false)
})

t.test('it lists the methods of the primary pin in declaration order', async t => {
  t.equal(primaryMethods.length, 124)
  t.same(primaryMethods.slice(0, 4), ['initialize', 'thread/start', 'thread/resume', 'thread/fork'])
  t.same(primaryMethods.slice(-7), [
    'getConversationSummary',
    'gitDiffToRemote',
    'getAuthStatus',
    'fuzzyFileSearch',
    'fuzzyFileSearch/sessionStart',
    'fuzzyFileSearch/sessionUpdate',
    'fuzzyFileSearch/sessionStop',
  ])
})

t.test('it tells the methods without params', async t => {
  const paramless = [...clientRequests].filter(([, spec]) => spec.paramless).map(([method]) => method)
  t.same(paramless.sort(), [
    'account/gatewayOAuth/cancel',
    'account/logout',
    'account/securitySetup/read',
    'account/workspaceMessages/read',
    'config/mcpServer/reload',
    'configRequirements/read',
    'externalAgentConfig/import/readHistories',
    'memory/reset',
    'remoteControl/status/read',
    'rollout/compress',
    'windowsSandbox/readiness',
  ])
})

t.test('it gates what the primary pin calls experimental, fields in declaration order', async t => {
  const gates = [...clientRequests].filter(([, { pins }]) => pins.includes('0.142.5'))
  const fields = gates.flatMap(([method, { experimental }]) =>
    experimental === true || experimental.length === 0 ? [] : [[method, experimental] as const],
  )
  t.equal(gates.filter(([, { experimental }]) => experimental === true).length, 34)
  t.same(Object.fromEntries(fields), {
    'thread/start': [
      'runtimeWorkspaceRoots',
      'permissions',
      'multiAgentMode',
      'environments',
      'dynamicTools',
      'selectedCapabilityRoots',
      'mockExperimentalField',
      'experimentalRawEvents',
    ],
    'thread/resume': ['history', 'path', 'runtimeWorkspaceRoots', 'permissions', 'excludeTurns', 'initialTurnsPage'],
    'thread/fork': ['path', 'runtimeWorkspaceRoots', 'permissions', 'excludeTurns'],
    'thread/list': ['parentThreadId'],
    'turn/start': [
      'responsesapiClientMetadata',
      'additionalContext',
      'environments',
      'runtimeWorkspaceRoots',
      'permissions',
      'collaborationMode',
      'multiAgentMode',
    ],
    'turn/steer': ['responsesapiClientMetadata', 'additionalContext'],
    'command/exec': ['permissionProfile'],
  })
  t.equal(clientRequests.get('thread/queue/add')?.experimental, true)
  t.same(clientRequests.get('thread/revert')?.experimental, [])
  t.same(experimentalVariants, [{ field: 'approvalPolicy', variant: 'granular', name: 'askForApproval.granular' }])
})

t.test('it puts a request that names a thread into its lane', async t => {
  const lane = (method: string) => clientRequests.get(method)?.threadLane
  t.equal(lane('turn/start'), 'threadId')
  t.equal(lane('thread/resume'), 'threadId')
  t.equal(lane('thread/start'), null)
  t.equal(lane('thread/list'), null)
  t.equal(lane('memory/reset'), null)
})

t.test('it tells which notifications and requests a version knows', async t => {
  t.equal(serverNotifications['0.142.5'].size, 69)
  t.equal(serverNotifications['0.171.0'].size, 89)
  t.equal(serverRequests['0.142.5'].has('currentTime/read'), true)
  t.equal(serverRequests['0.171.0'].has('currentTime/read'), false)
  const known = [...experimentalNotifications].filter(one => PINS.some(pin => serverNotifications[pin].has(one)))
  t.same(known, [...experimentalNotifications], 'the list written by hand names nothing that is not there')
  t.equal(experimentalNotifications.has('remoteControl/status/changed'), true)
  t.equal(experimentalNotifications.has('turn/completed'), false)
})

t.test('it has the shape of everything that clients send', async t => {
  for (const [method, { paramless }] of clientRequests) {
    const isUntyped = ['getConversationSummary', 'gitDiffToRemote', 'getAuthStatus'].includes(method)
    t.equal(paramsShapes.has(method), !paramless && !isUntyped, method)
  }
  for (const pin of PINS) for (const method of serverRequests[pin]) t.equal(replyShapes.has(method), true, method)
  for (const [ref] of JSON.stringify(shapes).matchAll(/(?<="#)\w+(?=")/g)) t.equal(ref in shapes, true, ref)
})
