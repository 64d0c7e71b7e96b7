import { dig, digText } from '../../kit/dig.ts'
import { command, type Scenario, text } from '../scenario.ts'
import { begin } from './turns.ts'

const ADD_FILE = '*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch\n'
const READ_ONLY = { type: 'readOnly', networkAccess: false }

/** The life of threads: starting, listing, reading, resuming, forking, and what else can be done to them. */
export const threads: readonly Scenario[] = [
  {
    name: 'thread-start-variants',
    about: 'Threads with every kind of setting, good and bad, and an ephemeral one.',
    script: [{ say: ['a'] }],
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const { cwd } = stage
      await client.ask('thread/start', {})
      await client.quiet(150)
      const ephemeral = await client.ask('thread/start', { cwd, ephemeral: true })
      await client.quiet(150)
      for (const params of [
        {
          cwd,
          model: 'gpt-5.5',
          sandbox: 'workspace-write',
          approvalPolicy: 'on-request',
          personality: 'pragmatic',
          config: { model_reasoning_effort: 'high' },
          developerInstructions: 'dev',
          baseInstructions: 'base',
          serviceName: 'svc',
        },
        { cwd, sandbox: 'read-only' },
        { cwd: '/nonexistent/dir' },
        { cwd: 'relative' },
        { cwd, modelProvider: 'nope' },
        { cwd, config: { model: 5 } },
        { cwd, permissions: ':workspace' },
        { cwd, permissions: 'nope' },
        { cwd, permissions: ':read-only', sandbox: 'read-only' },
        { cwd, threadSource: 'user' },
      ]) {
        await client.ask('thread/start', params)
        await client.quiet(150)
      }
      const threadId = digText(ephemeral, 'result.thread.id')
      await stage.turn(client, threadId, 'hi')
      await client.quiet()
      await client.askAll([
        ['thread/read', { threadId, includeTurns: true }],
        ['thread/read', { threadId }],
        ['thread/archive', { threadId }],
        ['thread/resume', { threadId }],
        ['thread/list', {}],
        ['thread/loaded/list', {}],
      ])
    },
  },
  {
    name: 'thread-read-fresh',
    about: 'What a thread can do before anybody has said anything.',
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.quiet(200)
      await client.askAll([
        ['thread/read', { threadId }],
        ['thread/read', { threadId, includeTurns: true }],
        ['thread/turns/list', { threadId }],
        ['thread/list', {}],
        ['thread/loaded/list', {}],
        ['thread/fork', { threadId }],
        ['thread/resume', { threadId }],
      ])
      await client.quiet(200)
      await client.ask('thread/name/set', { threadId, name: ' My name ' })
      await client.quiet(200)
      await client.ask('thread/name/set', { threadId, name: '   ' })
      await client.ask('thread/archive', { threadId })
      await client.quiet(300)
      await client.ask('thread/unsubscribe', { threadId })
      await client.quiet(200)
    },
  },
  {
    name: 'thread-lifecycle',
    about: 'Naming, listing, metadata, archiving, unarchiving, unsubscribing, deleting.',
    script: [{ say: ['a'] }, { say: ['b'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'first message')
      await client.quiet()
      await client.ask('thread/name/set', { threadId, name: 'Named' })
      await client.quiet(150)
      await client.askAll([
        ['thread/list', {}],
        ['thread/loaded/list', {}],
        ['thread/metadata/update', { threadId, gitInfo: { branch: 'main', sha: 'abc' } }],
        ['thread/metadata/update', { threadId, gitInfo: { branch: null } }],
        ['thread/metadata/update', { threadId }],
        ['thread/metadata/update', { threadId, gitInfo: {} }],
        ['thread/metadata/update', { threadId, gitInfo: { branch: '  ' } }],
        ['thread/memoryMode/set', { threadId, mode: 'disabled' }],
        ['thread/archive', { threadId }],
      ])
      await client.quiet(300)
      await client.askAll([
        ['thread/list', {}],
        ['thread/list', { archived: true }],
        ['thread/read', { threadId }],
        ['thread/resume', { threadId }],
        ['turn/start', { threadId, input: text('x') }],
        ['thread/archive', { threadId }],
        ['thread/loaded/list', {}],
        ['thread/unarchive', { threadId }],
      ])
      await client.quiet(200)
      await client.askAll([
        ['thread/unarchive', { threadId }],
        ['turn/start', { threadId, input: text('x') }],
        ['thread/resume', { threadId }],
      ])
      await client.quiet(200)
      await stage.turn(client, threadId, 'second')
      await client.quiet()
      await client.ask('thread/unsubscribe', { threadId })
      await client.ask('thread/unsubscribe', { threadId })
      await client.quiet(200)
      await client.ask('thread/delete', { threadId })
      await client.quiet(300)
      await client.ask('thread/read', { threadId })
      await client.ask('thread/delete', { threadId })
    },
  },
  {
    name: 'thread-list',
    about: 'Pages, cursors, orders, filters and searches over several threads.',
    script: [{ say: ['ok'], repeat: true }],
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const { dir } = stage.place
      const ids: string[] = []
      for (const cwd of [stage.cwd, stage.cwd, stage.cwd, dir]) {
        const threadId = await stage.thread(client, cwd === dir ? { cwd } : {})
        await stage.turn(client, threadId, `message number ${ids.length}`)
        ids.push(threadId)
        await client.quiet(150)
        // Their times must differ by a second to be in a known order.
        await stage.sleep(1050)
      }
      const first = ids[0] ?? ''
      await client.ask('thread/name/set', { threadId: first, name: 'Alpha' })
      await client.quiet(150)
      await stage.turn(client, first, 'bump')
      await client.quiet(150)
      const page1 = await client.ask('thread/list', { limit: 2 })
      const page2 = await client.ask('thread/list', { limit: 2, cursor: dig(page1, 'result.nextCursor') })
      const next = dig(page2, 'result.nextCursor')
      if (next) await client.ask('thread/list', { limit: 2, cursor: next })
      const cursor = dig(page2, 'result.backwardsCursor')
      await client.askAll([
        ['thread/list', { limit: 2, cursor, sortDirection: 'asc' }],
        ['thread/list', { limit: 1, sortKey: 'updated_at' }],
        ['thread/list', { limit: 1, sortKey: 'recency_at' }],
        ['thread/list', { limit: 1, sortDirection: 'asc' }],
        ['thread/list', { limit: 0 }],
        ['thread/list', { limit: 1000, cursor: 'garbage' }],
        ['thread/list', { searchTerm: 'number 2' }],
        ['thread/list', { searchTerm: 'NUMBER 2' }],
        ['thread/list', { searchTerm: 'Alpha' }],
        ['thread/list', { cwd: dir }],
        ['thread/list', { cwd: [stage.cwd, dir], limit: 1 }],
        ['thread/list', { modelProviders: ['openai'] }],
        ['thread/list', { modelProviders: [], limit: 1 }],
        ['thread/list', { sourceKinds: ['cli'] }],
        ['thread/list', { sourceKinds: ['vscode'], limit: 1 }],
        ['thread/list', { sourceKinds: ['bogus'] }],
        ['thread/list', { useStateDbOnly: true, limit: 1 }],
        ['thread/list', { parentThreadId: first }],
        ['thread/loaded/list', { limit: 2 }],
      ])
      const loaded = await client.ask('thread/loaded/list', { limit: 1 })
      await client.askAll([
        ['thread/loaded/list', { cursor: dig(loaded, 'result.nextCursor') }],
        ['thread/loaded/list', { cursor: 'garbage' }],
        ['thread/search', { searchTerm: 'number 1' }],
        ['thread/search', { searchTerm: '' }],
        ['thread/search', { searchTerm: 'ok', limit: 1 }],
      ])
    },
  },
  {
    name: 'thread-resume',
    about: 'A thread taken up by a second process: history, pages, overrides, by path; then another turn.',
    script: [
      { reason: ['think'], say: ['a'] },
      command('echo hi'),
      { say: ['b'] },
      { custom: { name: 'apply_patch', input: ADD_FILE } },
      { say: ['c'] },
      { say: ['d'] },
    ],
    async run(stage) {
      const [before, threadId] = await begin(stage)
      for (const said of ['one', 'two', 'three']) {
        await stage.turn(before, threadId, said)
        await before.quiet(400)
      }
      const path = digText(
        before.seen.find(message => dig(message, 'result.thread')),
        'result.thread.path',
      )
      before.end()
      await stage.sleep(400)
      const client = await stage.stdio()
      await client.initialize()
      await client.askAll([
        ['thread/read', { threadId }],
        ['turn/start', { threadId, input: text('not resumed') }],
        ['thread/unsubscribe', { threadId }],
        ['thread/turns/list', { threadId, limit: 2 }],
        ['thread/turns/list', { threadId, limit: 1, sortDirection: 'asc', itemsView: 'summary' }],
        ['thread/turns/list', { threadId, limit: 1, itemsView: 'notLoaded' }],
        ['thread/turns/list', { threadId, cursor: 'garbage' }],
      ])
      const page = await client.ask('thread/turns/list', { threadId, limit: 1, itemsView: 'full' })
      const cursor = dig(page, 'result.nextCursor')
      await client.ask('thread/turns/list', { threadId, limit: 5, cursor, itemsView: 'notLoaded' })
      await client.ask('thread/resume', { threadId })
      await client.quiet(400)
      for (const more of [
        { excludeTurns: true },
        { excludeTurns: true, initialTurnsPage: { limit: 1 } },
        { model: 'gpt-5.5' },
      ]) {
        await client.ask('thread/resume', { threadId, ...more })
        await client.quiet(200)
      }
      await client.ask('thread/resume', { threadId, path: '/nonexistent.jsonl' })
      await client.ask('thread/resume', { threadId: '', path })
      await client.quiet(200)
      await stage.turn(client, threadId, 'four')
      await client.quiet()
    },
  },
  {
    name: 'thread-fork',
    about: 'Forks: plain, ephemeral, without turns, in mid-turn; then a turn in a fork.',
    script: [{ say: ['a'] }, { say: ['b ', 'c'], gateAfter: 'g' }, { say: ['d'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'one')
      await client.quiet()
      const fork = await client.ask('thread/fork', { threadId })
      await client.quiet(300)
      await client.ask('thread/fork', { threadId, ephemeral: true })
      await client.quiet(300)
      await client.ask('thread/fork', { threadId, excludeTurns: true, model: 'gpt-5.5' })
      await client.quiet(300)
      await client.ask('turn/start', { threadId, input: text('two') })
      await client.untilOrNull('item/agentMessage/delta', { from: client.mark() })
      await client.ask('thread/fork', { threadId })
      await client.quiet(300)
      stage.model.release('g')
      const ends = { from: client.mark() }
      await client.until(m => m.method === 'turn/completed' && dig(m, 'params.threadId') === threadId, ends)
      await client.quiet(300)
      await stage.turn(client, digText(fork, 'result.thread.id'), 'in fork')
      await client.quiet(300)
      await client.ask('thread/list', {})
    },
  },
  {
    name: 'thread-rollback',
    about: 'Taking back no turn, one, too many, and one while a turn runs.',
    script: [{ say: ['a'] }, { say: ['b'] }, { say: ['c ', 'd'], gateAfter: 'g' }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'one')
      await stage.turn(client, threadId, 'two')
      await client.quiet()
      const back = (numTurns: number): Promise<unknown> =>
        client.ask('thread/rollback', { threadId, numTurns }, { timeoutMs: 3000 }).catch(() => null)
      await back(0)
      await back(1)
      await client.quiet(300)
      await back(9)
      await client.quiet(300)
      await client.ask('turn/start', { threadId, input: text('three') })
      await client.untilOrNull('item/agentMessage/delta', { from: client.mark() })
      await back(1)
      stage.model.release('g')
      await client.quiet(500)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'thread-inject',
    about: 'Items put into the history: none, a bad one, a good one.',
    script: [{ say: ['a'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const items = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'injected' }] }]
      await client.askAll([
        ['thread/inject_items', { threadId, items: [] }],
        ['thread/inject_items', { threadId, items: [{ bad: 1 }] }],
        ['thread/inject_items', { threadId, items }],
      ])
      await client.quiet(200)
      await stage.turn(client, threadId, 'go')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'thread-goal',
    about: 'A goal: set, paused, pursued, cleared, and refused.',
    script: [
      { say: ['a'] },
      { calls: [{ name: 'update_goal', args: { status: 'complete' } }] },
      { say: ['fin'] },
      { say: ['x'], repeat: true },
    ],
    setting: { features: 'goals = true' },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const objective = 'Ship it'
      await client.ask('thread/goal/get', { threadId })
      await stage.turn(client, threadId, 'hi')
      await client.quiet()
      await client.askAll([
        ['thread/goal/get', { threadId }],
        ['thread/goal/set', { threadId }],
        ['thread/goal/set', { threadId, objective: '' }],
        ['thread/goal/set', { threadId, objective, tokenBudget: 0 }],
        ['thread/goal/set', { threadId, objective, tokenBudget: 100_000, status: 'paused' }],
      ])
      await client.quiet(300)
      await client.ask('thread/goal/get', { threadId })
      await client.ask('thread/goal/set', { threadId, status: 'active' })
      await client.quiet(1500)
      await client.ask('thread/goal/get', { threadId })
      await client.ask('thread/goal/clear', { threadId })
      await client.quiet(300)
      await client.ask('thread/goal/clear', { threadId })
      await client.ask('thread/goal/get', { threadId })
    },
  },
  {
    name: 'thread-settings',
    about: 'Settings changed between turns, and when that is told.',
    script: [{ say: ['a'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const change = async (ms: number, settings: object = {}): Promise<void> => {
        await client.ask('thread/settings/update', { threadId, ...settings })
        await client.quiet(ms)
      }
      await client.quiet(150)
      await change(150)
      const approvalPolicy = 'on-request'
      await change(250, { model: 'gpt-5.5', effort: 'high', approvalPolicy, sandboxPolicy: READ_ONLY })
      await change(250, { model: 'gpt-5.5' })
      await change(150, { sandboxPolicy: READ_ONLY, permissions: ':workspace' })
      await change(250, { permissions: ':workspace' })
      await change(250, { cwd: 'rel' })
      await stage.turn(client, threadId, 'go')
      await client.quiet()
    },
  },
]
