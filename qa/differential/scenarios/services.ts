import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dig } from '../../kit/dig.ts'
import type { Scenario } from '../scenario.ts'
import { begin, plain } from './turns.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

type Request = readonly [method: string, params?: unknown]

/** Everything that is no turn: models, account, config, files, processes, searches, skills. */
export const services: readonly Scenario[] = [
  {
    name: 'models',
    about: 'Models in pages, hidden ones, profiles, features.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      await client.ask('model/list', {})
      const page = await client.ask('model/list', { limit: 1 })
      await client.askAll([
        ['model/list', { limit: 1, cursor: dig(page, 'result.nextCursor') }],
        ['model/list', { includeHidden: true }],
        ['model/list', { cursor: 'zzz' }],
        ['model/list', { cursor: '9999' }],
        ['modelProvider/capabilities/read', {}],
        ['permissionProfile/list', {}],
        ['permissionProfile/list', { limit: 1 }],
        ['experimentalFeature/list', { limit: 2 }],
        ['hooks/list', { cwds: [stage.cwd] }],
        ['configRequirements/read'],
      ])
    },
  },
  {
    name: 'account',
    about: 'Reading, logging in with a key, logging out.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      await client.askAll([
        ['account/read', {}],
        ['account/read', { refreshToken: true }],
        ['account/rateLimits/read'],
        ['account/usage/read'],
        ['account/login/start', { type: 'apiKey', apiKey: 'sk-test-123' }],
      ])
      await client.quiet(300)
      await client.askAll([
        ['account/read', {}],
        ['account/login/cancel', { loginId: 'x' }],
        ['account/login/cancel', { loginId: '00000000-0000-4000-8000-000000000000' }],
        ['account/logout'],
      ])
      await client.quiet(300)
      await client.ask('account/read', {})
      await client.ask('account/login/start', { type: 'bogus' })
      const feedback = { classification: 'bug', includeLogs: false }
      await client.ask('feedback/upload', feedback, { timeoutMs: 4000 }).catch(() => null)
    },
  },
  {
    name: 'account-openai-provider',
    about: 'The account when the provider wants one.',
    setting: { args: ['-c', 'model_provider="openai"'] },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      await client.ask('account/read', {})
    },
  },
  {
    name: 'config',
    about: 'Reading and writing the configuration: versions, conflicts, bad keys and values, batches.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const write = (keyPath: string, value: unknown, more: object = {}): Request => [
        'config/value/write',
        { keyPath, value, mergeStrategy: 'replace', ...more },
      ]
      const edit = (keyPath: string, value: unknown): object => ({ keyPath, value, mergeStrategy: 'replace' })
      await client.askAll([
        ['config/read', {}],
        ['config/read', { includeLayers: true }],
        ['config/read', { cwd: stage.cwd }],
      ])
      const written = await client.ask(...write('model', 'gpt-5.5'))
      await client.quiet(150)
      await client.askAll([
        write('model', 'gpt-5.4', { expectedVersion: `sha256:${'0'.repeat(64)}` }),
        write('model', 'gpt-5.4', { expectedVersion: dig(written, 'result.version') }),
        write('model', 5),
        write('approval_policy', 'bogus'),
        write('totally.unknown', 1, { mergeStrategy: 'upsert' }),
        write('', 1),
        write('a..b', 1),
        write('totally.unknown', null),
        write('mcp_servers.x', { command: 'true' }, { mergeStrategy: 'upsert' }),
        write('mcp_servers.x', { args: ['a'] }, { mergeStrategy: 'upsert' }),
        write('model', 'x', { filePath: '/tmp/other.toml' }),
        write('model', 'x', { filePath: 'relative.toml' }),
        [
          'config/batchWrite',
          { edits: [edit('tui.notifications', true), edit('sandbox_mode', 'read-only')], reloadUserConfig: true },
        ],
        ['config/batchWrite', { edits: [edit('sandbox_mode', 'workspace-write'), edit('model', 5)] }],
        ['config/batchWrite', { edits: [] }],
      ])
      await client.quiet(200)
      await client.ask('config/read', {})
      const file = readFileSync(join(stage.place.state, 'config.toml'), 'utf8')
      stage.event({ configToml: file.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:<MODEL_PORT>') })
    },
  },
  {
    name: 'config-bad-toml',
    about: 'A config.toml that is no TOML.',
    setting: { top: 'this is not toml' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize().catch(() => null)
      await stage.sleep(300)
      stage.event({ exited: client.closed, code: client.closed ? Number(client.closedBy) : null })
      if (client.closed) return
      await client.ask('config/read', {})
      await client.ask('thread/start', { cwd: stage.cwd })
      await client.quiet()
    },
  },
  {
    name: 'config-unknown-key',
    about: 'Keys and features that nobody knows.',
    setting: { top: 'nonsense_key = 1\nprofile = "missing"', features: 'no_such_feature = true' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize().catch(() => null)
      await stage.sleep(300)
      if (client.closed) {
        stage.event({ exited: client.closed, code: Number(client.closedBy) })
        return
      }
      await client.ask('thread/start', { cwd: stage.cwd })
      await client.quiet()
    },
  },
  {
    name: 'fs',
    about: 'Files and folders: reading, writing, copying, removing, watching, and every refusal.',
    setting: { files: { 'a.txt': 'hello', 'd/b.txt': 'x' } },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const at = (path: string): string => `${stage.cwd}/${path}`
      await client.askAll([
        ['fs/readFile', { path: at('a.txt') }],
        ['fs/readFile', { path: at('none') }],
        ['fs/readFile', { path: at('d') }],
        ['fs/readDirectory', { path: at('d') }],
        ['fs/readDirectory', { path: at('a.txt') }],
        ['fs/getMetadata', { path: at('a.txt') }],
        ['fs/getMetadata', { path: at('none') }],
        ['fs/watch', { watchId: 'w1', path: stage.cwd }],
        ['fs/watch', { watchId: 'w1', path: stage.cwd }],
        ['fs/watch', { watchId: 'w2', path: at('none') }],
        ['fs/writeFile', { path: at('w.txt'), dataBase64: base64('written') }],
      ])
      await client.quiet(900)
      await client.askAll([
        ['fs/unwatch', { watchId: 'w1' }],
        ['fs/unwatch', { watchId: 'w1' }],
        ['fs/writeFile', { path: at('w.txt'), dataBase64: '***' }],
        ['fs/writeFile', { path: at('no/such/dir.txt'), dataBase64: '' }],
        ['fs/createDirectory', { path: at('x/y') }],
        ['fs/createDirectory', { path: at('q/r'), recursive: false }],
        ['fs/copy', { sourcePath: at('a.txt'), destinationPath: at('c.txt') }],
        ['fs/copy', { sourcePath: at('d'), destinationPath: at('d2') }],
        ['fs/copy', { sourcePath: at('d'), destinationPath: at('d2'), recursive: true }],
        ['fs/remove', { path: at('d2') }],
        ['fs/remove', { path: at('none') }],
        ['fs/remove', { path: at('none'), force: false }],
        ['fs/remove', { path: at('d'), recursive: false }],
      ])
    },
  },
  {
    name: 'command-exec',
    about: "A client's own commands: output, limits, streams, terminals, and every refusal.",
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const sh = (script: string, more: object = {}): Request => [
        'command/exec',
        { command: ['/bin/sh', '-c', script], cwd: stage.cwd, ...more },
      ]
      const size = (rows: number, cols: number): object => ({ size: { rows, cols } })
      await client.askAll([
        sh('echo out; echo err >&2; exit 3'),
        sh('echo $FOO', { env: { FOO: 'bar' } }),
        sh('sleep 5', { timeoutMs: 200 }),
        sh('head -c 100 /dev/zero | tr "\\0" x', { outputBytesCap: 10 }),
        ['command/exec', { command: ['/no/such/prog'] }],
        ['command/exec', { command: [] }],
        sh('true', { tty: true }),
        sh('true', { streamStdoutStderr: true }),
        sh('true', { timeoutMs: 5, disableTimeout: true }),
        sh('true', { outputBytesCap: 5, disableOutputCap: true }),
        sh('true', size(1, 1)),
        sh('true', { cwd: '/no/such/dir' }),
        sh('true', { timeoutMs: -1 }),
      ])
      const streams = { processId: 'p1', streamStdin: true, streamStdoutStderr: true }
      const running = client.ask(...sh('read a; echo "got $a"; echo e >&2; cat', streams))
      await stage.sleep(300)
      await client.ask(...sh('true', { processId: 'p1' }))
      await client.ask('command/exec/write', { processId: 'p1', deltaBase64: base64('line\n') })
      await stage.sleep(200)
      await client.askAll([
        ['command/exec/write', { processId: 'p1' }],
        ['command/exec/write', { processId: 'p1', deltaBase64: '*' }],
        ['command/exec/resize', { processId: 'p1', ...size(5, 50) }],
        ['command/exec/write', { processId: 'p1', deltaBase64: base64('tail'), closeStdin: true }],
      ])
      await running
      await client.quiet(150)
      await client.askAll([
        ['command/exec/write', { processId: 'p1', deltaBase64: base64('x') }],
        ['command/exec/terminate', { processId: 'p1' }],
        ['command/exec/resize', { processId: 'nope', ...size(5, 50) }],
      ])
      const terminal = client.ask(...sh('stty size; sleep 30', { processId: 'p2', tty: true, ...size(10, 40) }))
      await stage.sleep(400)
      await client.askAll([
        ['command/exec/resize', { processId: 'p2', ...size(20, 80) }],
        ['command/exec/resize', { processId: 'p2', ...size(0, 80) }],
        ['command/exec/terminate', { processId: 'p2' }],
      ])
      await terminal
      await client.quiet(150)
    },
  },
  {
    name: 'process',
    about: 'Processes by handle: streams, terminals, killing, and every refusal.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const spawn = (processHandle: string, script: string, more: object = {}): Request => [
        'process/spawn',
        { command: ['/bin/sh', '-c', script], processHandle, cwd: stage.cwd, ...more },
      ]
      const exited = (handle: string): Promise<unknown> =>
        client.until(m => m.method === 'process/exited' && dig(m, 'params.processHandle') === handle)
      await client.ask(...spawn('h1', 'echo out; echo err >&2; exit 4'))
      await client.until('process/exited')
      await client.askAll([
        spawn('h2', 'read a; echo "got $a"', { streamStdin: true, streamStdoutStderr: true }),
        spawn('h2', 'true'),
        ['process/writeStdin', { processHandle: 'h2', deltaBase64: base64('q\n') }],
      ])
      await exited('h2')
      await client.askAll([
        spawn('h3', 'sleep 30', { tty: true, size: { rows: 4, cols: 4 } }),
        ['process/resizePty', { processHandle: 'h3', size: { rows: 5, cols: 5 } }],
        ['process/kill', { processHandle: 'h3' }],
      ])
      await exited('h3')
      await client.askAll([
        ['process/kill', { processHandle: 'h3' }],
        ['process/writeStdin', { processHandle: 'nope', deltaBase64: '' }],
        spawn('', 'true'),
        ['process/spawn', { command: [], processHandle: 'h4', cwd: stage.cwd }],
        ['process/spawn', { command: ['/no/such'], processHandle: 'h5', cwd: stage.cwd }],
        spawn('h6', 'sleep 3', { timeoutMs: 200 }),
      ])
      await exited('h6')
      await client.ask(...spawn('h7', 'true', { cwd: '/no/dir' }))
      await client.quiet(200)
    },
  },
  {
    name: 'fuzzy-search',
    about: 'Searching file names, once and in a session.',
    setting: { files: { 'alpha.txt': '', 'beta/alphabet.md': '', 'gamma.txt': '' } },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const roots = [stage.cwd]
      await client.askAll([
        ['fuzzyFileSearch', { query: 'alph', roots, cancellationToken: null }],
        ['fuzzyFileSearch', { query: '', roots }],
        ['fuzzyFileSearch', { query: 'alph', roots: [] }],
        ['fuzzyFileSearch', { query: 'a', roots: ['/no/such'], cancellationToken: 't' }],
        ['fuzzyFileSearch/sessionStart', { sessionId: 's1', roots }],
        ['fuzzyFileSearch/sessionUpdate', { sessionId: 's1', query: 'alp' }],
      ])
      await client.untilOrNull('fuzzyFileSearch/sessionCompleted')
      await client.quiet(300)
      await client.ask('fuzzyFileSearch/sessionUpdate', { sessionId: 's1', query: 'zzz' })
      await client.quiet(400)
      await client.askAll([
        ['fuzzyFileSearch/sessionStop', { sessionId: 's1' }],
        ['fuzzyFileSearch/sessionStop', { sessionId: 's1' }],
        ['fuzzyFileSearch/sessionUpdate', { sessionId: 's1', query: 'a' }],
        ['fuzzyFileSearch/sessionStart', { sessionId: '', roots }],
        ['fuzzyFileSearch/sessionStart', { sessionId: 's2', roots: [] }],
      ])
    },
  },
  {
    name: 'skills',
    about: 'A good skill and a broken one, switched off and on.',
    setting: {
      files: {
        '.agents/skills/hello/SKILL.md': '---\nname: hello\ndescription: Say hello\n---\nBody\n',
        '.agents/skills/bad/SKILL.md': 'no front matter\n',
      },
    },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      await client.askAll([
        ['skills/list', { cwds: [stage.cwd] }],
        ['skills/list', {}],
        ['skills/list', { cwds: ['rel'] }],
        ['skills/config/write', { name: 'hello', enabled: false }],
      ])
      await client.quiet(300)
      await client.ask('skills/list', { cwds: [stage.cwd], forceReload: true })
      await client.ask('skills/extraRoots/set', { extraRoots: [`${stage.place.dir}/extra`] })
      await client.quiet(400)
    },
  },
  {
    name: 'misc-services',
    about: 'Apps, plugins, marketplaces, remote control, environments and other corners.',
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      const patient = async (method: string, params: unknown, timeoutMs: number): Promise<void> => {
        await client.ask(method, params, { timeoutMs }).catch(() => null)
      }
      await patient('app/list', {}, 6000)
      await client.askAll([
        ['externalAgentConfig/detect', { includeHome: true, cwds: [stage.cwd] }],
        ['externalAgentConfig/import/readHistories'],
        ['windowsSandbox/readiness'],
        ['windowsSandbox/setupStart', { mode: 'unelevated' }],
      ])
      await client.quiet(200)
      await patient('remoteControl/enable', {}, 3000)
      await client.quiet(200)
      await client.ask('remoteControl/disable', {})
      await client.quiet(200)
      await client.ask('environment/add', { environmentId: 'e', execServerUrl: 'ws://127.0.0.1:1' })
      await patient('plugin/installed', {}, 3000)
      await client.askAll([
        ['plugin/read', { pluginName: 'x' }],
        ['marketplace/remove', { marketplaceName: 'x' }],
        ['mcpServer/oauth/login', { name: 'x' }],
        ['experimentalFeature/enablement/set', { enablement: { apps: true } }],
        ['experimentalFeature/enablement/set', { enablement: { bogus: true } }],
      ])
      await client.quiet(200)
    },
  },
  plain('agents-md', 'Instructions from AGENTS.md.', [{ say: ['ok'] }], {
    setting: { files: { 'AGENTS.md': 'Be nice.\n' } },
  }),
  {
    name: 'git-info',
    about: 'A thread in a git repository.',
    script: [{ say: ['ok'] }],
    setting: { files: { 'a.txt': 'x\n' } },
    async run(stage) {
      const date = '2020-01-01T00:00:00Z'
      const env = { ...process.env, HOME: stage.place.home, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date }
      const git = (...args: string[]): Buffer =>
        execFileSync('git', ['-c', 'user.name=n', '-c', 'user.email=e@e', ...args], { cwd: stage.cwd, env })
      git('init', '-q', '-b', 'main')
      git('add', '.')
      git('commit', '-qm', 'init')
      git('remote', 'add', 'origin', 'https://example.com/r.git')
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'go')
      await client.quiet()
      await client.ask('thread/read', { threadId })
      await client.ask('thread/list', {})
    },
  },
]
