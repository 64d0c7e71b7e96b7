import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/base/json.ts'
import { locate, parseToml } from '../../../src/engine/settings/toml.ts'
import { place, refusal } from './home.ts'

const DEFAULTS = {
  model: null,
  modelProvider: null,
  modelProviders: {},
  effort: null,
  summary: null,
  verbosity: null,
  contextWindow: null,
  autoCompactLimit: null,
  toolOutputLimit: null,
  approvalPolicy: 'on-request',
  sandbox: {
    type: 'workspaceWrite',
    writableRoots: [],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  },
  permissionProfile: null,
  personality: null,
  serviceTier: null,
  baseInstructions: null,
  developerInstructions: null,
  showRawReasoning: false,
  hideReasoning: false,
  features: {},
  rootMarkers: ['.git'],
  projectDocMaxBytes: 32768,
  projectDocFallbacks: [],
  trust: null,
  notices: [],
  table: {},
}

t.test('it has defaults for everything when there is no home at all', async t => {
  const { cwd, load } = place(t)
  const settings = load()
  t.strictSame(settings.resolve({ cwd }), DEFAULTS)
  t.strictSame(settings.server(), { codexVersion: 'auto', durability: 'full', unattendedMs: 60_000 })
  t.strictSame(settings.warnings(), [])
})

const FULL = `
model = "llama"
model_provider = "local"
model_reasoning_effort = "anything"
model_reasoning_summary = "concise"
model_verbosity = "low"
model_context_window = 1000
model_auto_compact_token_limit = 800
tool_output_token_limit = 500
approval_policy = "on-failure"
sandbox_mode = "workspace-write"
personality = "friendly"
service_tier = "fast"
instructions = "be a pirate"
developer_instructions = "dev"
show_raw_agent_reasoning = true
hide_agent_reasoning = true
project_root_markers = [".hg"]
project_doc_max_bytes = 10
project_doc_fallback_filenames = ["CLAUDE.md"]
codex_version = "0.142.5"
durability = "process"
nobody_knows = { this = [1, 2.5, 1979-05-27] }
[approvals]
unattended_ms = 5
[sandbox_workspace_write]
writable_roots = ["/opt", "rel", "~/x"]
network_access = true
exclude_tmpdir_env_var = true
exclude_slash_tmp = true
[features]
unified_exec = false
fancy = { a = 1 }
[model_providers.local]
base_url = "http://127.0.0.1:1/v1"
wire_api = "chat"
`

t.test('it reads every key, keeps unknown ones, and reports on-failure as on-request', async t => {
  const { home, cwd, load } = place(t, { 'home/config.toml': FULL })
  const settings = load()
  const { table, ...rest } = settings.resolve({ cwd })
  t.strictSame(rest, {
    ...(({ table: _, ...defaults }) => defaults)(DEFAULTS),
    model: 'llama',
    modelProvider: 'local',
    modelProviders: { local: { base_url: 'http://127.0.0.1:1/v1', wire_api: 'chat' } },
    effort: 'anything',
    summary: 'concise',
    verbosity: 'low',
    contextWindow: 1000,
    autoCompactLimit: 800,
    toolOutputLimit: 500,
    sandbox: {
      type: 'workspaceWrite',
      writableRoots: ['/opt', join(home, 'rel'), join(home, '../x')],
      networkAccess: true,
      excludeTmpdirEnvVar: true,
      excludeSlashTmp: true,
    },
    personality: 'friendly',
    serviceTier: 'fast',
    baseInstructions: 'be a pirate',
    developerInstructions: 'dev',
    showRawReasoning: true,
    hideReasoning: true,
    features: { unified_exec: false },
    rootMarkers: ['.hg'],
    projectDocMaxBytes: 10,
    projectDocFallbacks: ['CLAUDE.md'],
  })
  t.strictSame(table.nobody_knows, { this: [1, 2.5, '1979-05-27'] })
  t.strictSame(settings.server(), { codexVersion: '0.142.5', durability: 'process', unattendedMs: 5 })
})

t.test('it takes a per-thread configuration, nested or dotted, over everything else', async t => {
  const { cwd, load } = place(t, { 'home/config.toml': 'model = "file"\nmodel_reasoning_effort = "low"\n' })
  const settings = load({ flags: ['model=flag', 'approval_policy="never"'] })
  const overrides = {
    model: 'thread',
    'model_providers."a.b".base_url': 'http://x',
    'model_providers.c.request_max_retries': 0,
    model_providers: { c: { base_url: 'http://c' } },
    sandbox_mode: 'read-only',
    personality: null,
    '': 1,
    'a..b': 2,
    sandbox_workspace_write: { writable_roots: null },
  }
  const { model, effort, approvalPolicy, sandbox, modelProviders, personality } = settings.resolve({ cwd, overrides })
  t.strictSame(
    { model, effort, approvalPolicy, sandbox, modelProviders, personality },
    {
      model: 'thread',
      effort: 'low',
      approvalPolicy: 'never',
      sandbox: { type: 'readOnly', networkAccess: false },
      modelProviders: { 'a.b': { base_url: 'http://x' }, c: { request_max_retries: 0, base_url: 'http://c' } },
      personality: null,
    },
  )
  t.equal(settings.resolve({ cwd }).model, 'flag')
})

t.test('it refuses overrides of the wrong type in the words of codex', async t => {
  const { cwd, load } = place(t)
  const settings = load()
  const texts: readonly [Record<string, unknown>, string][] = [
    [{ model: 5 }, 'invalid type: integer `5`, expected a string\nin `model`\n'],
    [{ model: 1.5 }, 'invalid type: floating point `1.5`, expected a string\nin `model`\n'],
    [{ model: true }, 'invalid type: boolean `true`, expected a string\nin `model`\n'],
    [{ model: ['a'] }, 'invalid type: sequence, expected a string\nin `model`\n'],
    [{ model: { a: 1 } }, 'invalid type: map, expected a string\nin `model`\n'],
    [{ model_context_window: 'a' }, 'invalid type: string "a", expected i64\nin `model_context_window`\n'],
    [{ project_doc_max_bytes: -1 }, 'invalid value: integer `-1`, expected usize\nin `project_doc_max_bytes`\n'],
    [
      { approval_policy: 'bogus' },
      'unknown variant `bogus`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`\nin `approval_policy`\n',
    ],
    [{ approval_policy: 5 }, 'invalid type: unit variant, expected string only\nin `approval_policy`\n'],
    [
      { 'projects.x.trust_level': 'maybe' },
      'unknown variant `maybe`, expected `trusted` or `untrusted`\nin `projects.x.trust_level`\n',
    ],
    [{ projects: { x: 5 } }, 'invalid type: integer `5`, expected struct ProjectConfig\nin `projects.x`\n'],
    [{ model_providers: 5 }, 'invalid type: integer `5`, expected a map\nin `model_providers`\n'],
    [{ features: { x: 3 } }, 'invalid type: integer `3`, expected a boolean\nin `features`\n'],
    [{ features: 5 }, 'invalid type: integer `5`, expected struct FeaturesToml\nin `features`\n'],
    [
      { sandbox_workspace_write: { writable_roots: [5] } },
      'invalid type: integer `5`, expected path string\nin `sandbox_workspace_write.writable_roots`\n',
    ],
    [{ project_root_markers: 'x' }, 'invalid type: string "x", expected a sequence\nin `project_root_markers`\n'],
    [{ profile: 'p' }, legacy('p')],
    [{ codex_version: '1\nx: y' }, VERSION_TEXT],
    [{ default_permissions: 'nope' }, 'default_permissions requires a `[permissions]` table'],
    [{ model: 5, x: 'y'.repeat(1e6) }, 'invalid type: integer `5`, expected a string\nin `model`\n'],
    [
      { model_context_window: 'y'.repeat(1e6) },
      `invalid type: string "${'y'.repeat(200)}…", expected i64\nin \`model_context_window\`\n`,
    ],
    [{ '__proto__.x': 1 }, 'keyPath segment `__proto__` is not allowed'],
    [{ a: JSON.parse('{"__proto__":{"polluted":1}}') }, 'key `__proto__` is not allowed'],
    [{ a: { constructor: { prototype: 1 } } }, 'key `constructor` is not allowed'],
    [{ a: deep(100) }, 'configuration is nested deeper than 64 levels'],
  ]
  for (const [overrides, message] of texts) {
    const got = await refusal(() => settings.resolve({ cwd, overrides: overrides as JsonObject }))
    t.strictSame(got, { code: 'configInvalid', message }, message.slice(0, 70))
  }
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

const VERSION_TEXT =
  'invalid value: string "1\\nx: y", expected `auto` or a version such as `0.142.5`\nin `codex_version`\n'

const legacy = (name: string): string =>
  `legacy \`profile = "${name}"\` config is no longer supported; use \`--profile ${name}\` with \`${name}.config.toml\` instead`

function deep(levels: number): unknown {
  return levels === 0 ? 1 : { a: deep(levels - 1) }
}

t.test('it reads -c values as TOML, else as text, with quoted key segments', async t => {
  const { cwd, load } = place(t)
  const table = (...flags: string[]): unknown => load({ flags }).resolve({ cwd }).table
  t.strictSame(table('a.b=1', 'a.c="x=y"', 'a."d.e"=[1, true]', 'model=gpt-5', "t='q'"), {
    a: { b: 1, c: 'x=y', 'd.e': [1, true] },
    model: 'gpt-5',
    t: 'q',
  })
  t.strictSame(table('a=1', 'a.b=2', 'x=', 'y=1\nz = 2', 'k="a'), { a: { b: 2 }, x: '', y: '1\nz = 2', k: 'a' })
  for (const [flag, message] of [
    ['foo', "Invalid override (missing '='): foo"],
    ['=1', 'keyPath must not be empty'],
    ['a..b=1', 'keyPath segments must not be empty'],
    ['__proto__.a=1', 'keyPath segment `__proto__` is not allowed'],
    ['model=5', 'invalid type: integer `5`, expected a string\nin `model`\n'],
  ] as const) {
    t.strictSame(await refusal(() => load({ flags: [flag] })), { code: 'configInvalid', message })
  }
})

t.test('it lets the command line, then the environment, then the file claim a codex version', async t => {
  const { load } = place(t, { 'home/config.toml': 'codex_version = "0.1.0"' })
  const env = { SKEIN_CODEX_VERSION: '0.2.0' }
  t.equal(load().server().codexVersion, '0.1.0')
  t.equal(load({ env }).server().codexVersion, '0.2.0')
  t.equal(load({ env, flags: ['codex_version=0.3.0'] }).server().codexVersion, '0.3.0')
  t.match(await refusal(() => load({ env: { SKEIN_CODEX_VERSION: 'bad version' } })), { code: 'configInvalid' })
})

t.test('it starts on defaults with a broken file, says where, and recovers when it is mended', async t => {
  const { home, cwd, put, load } = place(t)
  const path = put('home/config.toml', '# a\n\n\n\n\nthis is not toml\n')
  const settings = load()
  const details = `${path}:6:6: key with no value, expected \`=\``
  const point = { line: 6, column: 6 }
  t.strictSame(settings.warnings(), [
    { summary: 'Invalid configuration; using defaults.', details, path, range: { start: point, end: point } },
  ])
  t.equal(settings.server().durability, 'full')
  t.strictSame(await refusal(() => settings.resolve({ cwd })), { code: 'configInvalid', message: details })
  t.strictSame(await refusal(() => settings.read({ cwd: null, includeLayers: false })), {
    code: 'configInvalid',
    message: `failed to read configuration layers: ${details}`,
  })
  put('home/config.toml', 'model = "mended"\n')
  t.equal(settings.resolve({ cwd }).model, 'mended')
  t.strictSame(settings.warnings(), [])
  rmSync(home, { recursive: true })
  t.equal(settings.resolve({ cwd }).model, null)
})

t.test('it points at the value that is wrong', async t => {
  const { cwd, put, load } = place(t)
  const path = put('home/config.toml', '')
  const cases: readonly [string, string, readonly [number, number, number] | null][] = [
    ['model = 5\n', 'invalid type: integer `5`, expected a string', [1, 9, 9]],
    ['\ufeffmodel = 5\n', 'invalid type: integer `5`, expected a string', [1, 9, 9]],
    [
      'model="a"\napproval_policy = "bogus" # x\n',
      'unknown variant `bogus`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`',
      [2, 19, 25],
    ],
    ['[model_providers."a.b"]\r\nrequest_max_retries=-1\r\n', 'invalid value: integer `-1`, expected u64', [2, 21, 22]],
    ['x = """\nmodel = 1\n"""\nmodel = 5\n', 'invalid type: integer `5`, expected a string', [4, 9, 9]],
    ['projects."/x" = { trust_level = 5 }\n', 'invalid type: unit variant, expected string only', [1, 17, 17]],
    ['features = [1]\n', 'invalid type: sequence, expected struct FeaturesToml', [1, 12, 12]],
    ['model = "a"\nmodel = "b"\n', 'duplicate key', [2, 1, 1]],
    ['x', 'key with no value, expected `=`', [1, 2, 2]],
    ['[a\n', 'unclosed table, expected `]`', [1, 3, 3]],
    ['\u0001x = 1\n', 'illegal character in key', [1, 1, 1]],
    ['profile = "p"\n', legacy('p'), null],
  ]
  for (const [text, message, at] of cases) {
    put('home/config.toml', text)
    const [line, column, endColumn] = at ?? []
    t.strictSame(
      load().warnings(),
      [
        {
          summary: 'Invalid configuration; using defaults.',
          details: at ? `${path}:${line}:${column}: ${message}` : message,
          path: at ? path : null,
          range: at ? { start: { line, column }, end: { line, column: endColumn } } : null,
        },
      ],
      text,
    )
  }
  t.strictSame(await refusal(() => load().resolve({ cwd })), { code: 'configInvalid', message: legacy('p') })
  t.equal(locate('x = 1\n'.repeat(3000), ['x']), null, 'a file of absurd length is not searched')
  t.equal(locate(`[${'"'.repeat(40)}\n`, ['x']), null, 'hostile quotes cost nothing')
  t.match(parseToml('a = 9223372036854775807'), { a: Number }, 'a big integer is the nearest number')
})

t.test('it survives a config.toml that is no file, not text, or huge', async t => {
  const { home, cwd, put, load } = place(t)
  const path = join(home, 'config.toml')
  const reason = async (): Promise<string> => (await refusal(() => load().resolve({ cwd }))).message
  mkdirSync(path, { recursive: true })
  t.equal(await reason(), `${path}: failed to read config file: not a regular file`)
  rmSync(path, { recursive: true })
  execFileSync('mkfifo', [path])
  t.equal(await reason(), `${path}: failed to read config file: not a regular file`)
  rmSync(path)
  symlinkSync(path, path)
  t.equal(await reason(), `${path}: failed to read config file: Too many levels of symbolic links (os error 40)`)
  rmSync(path)
  put('home/config.toml', Buffer.from([0x61, 0xff]))
  t.equal(await reason(), `${path}: stream did not contain valid UTF-8`)
  put('home/config.toml', '#'.repeat(1024 * 1024 + 1))
  t.equal(await reason(), `${path}: larger than 1048576 bytes`)
  put('home/config.toml', '__proto__ = { polluted = 1 }\nconstructor = 1\nmodel = "m"\n')
  t.strictSame(load().resolve({ cwd }).table, { model: 'm' }, 'keys that reach a prototype are dropped')
  t.equal(({} as Record<string, unknown>).polluted, undefined)
})

t.test('it reads a file again only when it changed', async t => {
  const { cwd, put, load } = place(t)
  put('home/config.toml', 'model = "a"')
  const settings = load()
  const table = () => settings.resolve({ cwd }).modelProviders
  put('home/config.toml', '[model_providers.x]\nname = "a"')
  const first = table()
  t.equal(table().x, first.x, 'the same object: nothing was parsed again')
  put('home/config.toml', '[model_providers.x]\nname = "b"')
  t.strictSame(table(), { x: { name: 'b' } }, 'same size, other content')
  const next = put('home/next.toml', '[model_providers.x]\nname = "c"')
  utimesSync(next, 1, 1)
  renameSync(next, join(next, '../config.toml'))
  t.strictSame(table(), { x: { name: 'c' } }, 'replaced by an older file')
})

t.test('it refuses a provider that nobody configured', async t => {
  const { cwd, put, load } = place(t, { 'home/config.toml': 'model_provider = "nope"' })
  const settings = load({ providers: ['offline'] })
  const message = 'Model provider `nope` not found'
  t.strictSame(await refusal(() => settings.resolve({ cwd })), { code: 'configInvalid', message })
  t.match(settings.warnings(), [{ details: message, path: null }])
  t.equal(settings.resolve({ cwd, overrides: { model_provider: 'offline' } }).modelProvider, 'offline')
  put('home/config.toml', 'model_provider = "nope"\n[model_providers.nope]\n')
  t.equal(settings.resolve({ cwd }).modelProvider, 'nope')
})

t.test('it lays the file of a profile over config.toml', async t => {
  const { cwd, load } = place(t, {
    'home/config.toml': 'model = "base"\nmodel_reasoning_effort = "low"',
    'home/work.config.toml': 'model = "work"',
  })
  const { model, effort } = load({ profile: 'work' }).resolve({ cwd })
  t.strictSame({ model, effort }, { model: 'work', effort: 'low' })
  t.match(await refusal(() => load({ profile: 'none' })), { message: /none\.config\.toml not found/ })
  for (const profile of ['../x', '', 'a/b', '.hidden', 'a\0']) {
    t.match(await refusal(() => load({ profile })), { message: /^a profile name holds only/ }, JSON.stringify(profile))
  }
})

t.test('it takes base instructions from a file, or says why it cannot', async t => {
  const { home, cwd, put, load } = place(t, { 'home/config.toml': 'model_instructions_file = "me.md"' })
  const path = join(home, 'me.md')
  const refused = async (reason: string): Promise<void> => {
    const message = `failed to read model instructions file ${path}: ${reason}`
    t.strictSame(await refusal(() => load().resolve({ cwd })), { code: 'configInvalid', message })
  }
  await refused('No such file or directory (os error 2)')
  put('home/me.md', ' \n')
  await refused('the file is empty')
  put('home/me.md', '\nYou are me.\n')
  t.equal(load().resolve({ cwd }).baseInstructions, 'You are me.')
  put('cwd/own.md', 'here')
  const overrides = { model_instructions_file: 'own.md' }
  t.equal(load().resolve({ cwd, overrides }).baseInstructions, 'here', 'a thread counts from its own directory')
})

t.test('it counts a relative script file from where its provider is configured', t => {
  const { home, cwd, load } = place(t, {
    'home/config.toml':
      'model_providers.a.script_file = "s.txt"\nmodel_providers.b.script_file = "/b.txt"\nmodel_providers.c.name = "C"',
  })
  t.match(load().resolve({ cwd }).modelProviders, {
    a: { script_file: join(home, 's.txt') },
    b: { script_file: '/b.txt' },
    c: { name: 'C', script_file: undefined },
  })
  t.match(load({ flags: ['model_providers.a.script_file="t.txt"'] }).resolve({ cwd }).modelProviders, {
    a: { script_file: join(cwd, 't.txt') },
  })
  t.end()
})

t.test('it lets a permission profile and a sandbox mode stand for each other, the higher layer wins', async t => {
  const { cwd, load } = place(t, { 'home/config.toml': 'sandbox_mode = "danger-full-access"' })
  const settings = load()
  const of = (overrides: JsonObject) => {
    const { sandbox, permissionProfile } = settings.resolve({ cwd, overrides })
    return [sandbox.type, permissionProfile]
  }
  t.strictSame(of({}), ['dangerFullAccess', null])
  t.strictSame(of({ default_permissions: ':read-only' }), ['readOnly', ':read-only'])
  t.strictSame(of({ default_permissions: ':workspace' }), ['workspaceWrite', ':workspace'])
  t.strictSame(of({ default_permissions: ':danger-full-access' }), ['dangerFullAccess', ':danger-full-access'])
})

t.test('it loads a project only when its real path is trusted', async t => {
  const { home, cwd, put, load } = place(t, {
    'cwd/.git/HEAD': '',
    'cwd/.skein/config.toml': 'model = "project"\nmodel_verbosity = "low"\n',
    'cwd/sub/.skein/config.toml': 'model = "sub"\n',
    'cwd/sub/deep/x': '',
  })
  const at = (path: string, overrides = {}): readonly unknown[] => {
    const settings = load().resolve({ cwd: join(cwd, path), overrides })
    return [settings.trust, settings.model, settings.verbosity, settings.notices.length]
  }
  const trust = (path: string, level = 'trusted'): string =>
    `projects.${JSON.stringify(path)}.trust_level = "${level}"\n`
  t.strictSame(at('sub/deep'), [null, null, null, 2], 'undecided')
  put('home/config.toml', trust(cwd))
  t.strictSame(at('sub/deep'), ['trusted', 'sub', 'low', 0], 'a trusted root trusts what is below')
  t.strictSame(at('.'), ['trusted', 'project', 'low', 0])
  put('home/config.toml', trust(cwd) + trust(join(cwd, 'sub'), 'untrusted'))
  t.strictSame(at('sub/deep'), ['untrusted', 'project', 'low', 1], 'the nearest decision counts')
  put('home/config.toml', `project_root_markers = []\n${trust(cwd)}`)
  t.strictSame(at('sub'), [null, null, null, 1], 'without markers every folder is a project of its own')
  t.strictSame(at('sub', { projects: { [join(cwd, 'sub')]: { trust_level: 'trusted' } } }), ['trusted', 'sub', null, 0])
  symlinkSync(cwd, join(cwd, '../link'))
  put('home/config.toml', trust(join(cwd, '../link')))
  t.strictSame(at('.'), [null, null, null, 1], 'a link lends no trust')
  put('home/config.toml', trust(cwd))
  t.equal(load().resolve({ cwd: join(cwd, '../link') }).model, 'project', 'nor does it lose any')
  t.equal(load().trust(cwd), 'trusted')
  t.equal(load().trust(home), null)
  t.strictSame(load().resolve({ cwd: '/nonexistent/dir' }).trust, null)
})

t.test('it never lets a project run code, choose providers, read files or loosen what it may do', async t => {
  const { cwd, put, load } = place(t, {
    'home/config.toml': 'approval_policy = "on-request"\nsandbox_mode = "workspace-write"\n',
    'cwd/.skein/config.toml': [
      'model = "project"',
      'model_provider = "evil"',
      'notify = ["touch", "canary"]',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      'model_instructions_file = "/etc/passwd"',
      'project_root_markers = [".x"]',
      'durability = "process"',
      'sandbox_workspace_write.network_access = true',
      'shell_environment_policy.set = { LD_PRELOAD = "x" }',
      'features.anything = true',
      'mcp_servers.z = { command = "canary" }',
      'model_providers.evil = { base_url = "http://evil" }',
      'projects."/" = { trust_level = "trusted" }',
      'made_up = 1',
    ].join('\n'),
  })
  const flags = ['project_root_markers=[]', `projects.${JSON.stringify(cwd)}.trust_level=trusted`]
  const settings = load({ flags }).resolve({ cwd })
  const { notices, table, ...rest } = settings
  t.strictSame(rest, {
    ...(({ table: _, notices: __, ...defaults }) => defaults)(DEFAULTS),
    model: 'project',
    rootMarkers: [],
    trust: 'trusted',
  })
  t.match(notices, [
    /because a project may not set it: model_provider, notify, approval_policy, sandbox_mode, model_instructions_file, project_root_markers, durability, sandbox_workspace_write, shell_environment_policy, features, mcp_servers, model_providers, projects, made_up\. Set it in your own/,
  ])
  t.strictSame(Object.keys(table).sort(), [
    'approval_policy',
    'model',
    'project_root_markers',
    'projects',
    'sandbox_mode',
  ])
  put('cwd/.skein/config.toml', 'approval_policy = "untrusted"\nsandbox_mode = "read-only"\n')
  const strict = load({ flags }).resolve({ cwd })
  t.strictSame([strict.approvalPolicy, strict.sandbox.type, strict.notices], ['untrusted', 'readOnly', []])
  put('home/config.toml', 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n')
  put('cwd/.skein/config.toml', 'approval_policy = "on-failure"\nsandbox_mode = "workspace-write"\n')
  const same = load({ flags }).resolve({ cwd })
  t.strictSame([same.approvalPolicy, same.sandbox.type, same.notices], ['on-request', 'workspaceWrite', []])
})

t.test('it does not lose what a broken file of a trusted project forbids', async t => {
  const { cwd, load } = place(t, { 'cwd/.skein/config.toml': 'sandbox_mode = "read-only"\nx' })
  const flags = ['project_root_markers=[]', `projects.${JSON.stringify(cwd)}.trust_level=trusted`]
  t.match(await refusal(() => load({ flags }).resolve({ cwd })), {
    code: 'configInvalid',
    message: /\.skein\/config\.toml:2:2: key with no value/,
  })
  t.match(load({ flags }).warnings(), [{ summary: 'Invalid configuration; using defaults.' }])
  t.equal(load({ flags: flags.slice(0, 1) }).resolve({ cwd }).trust, null, 'untrusted: not even read')
})

t.test('it does not take the home for the project around it', async t => {
  const { home, load } = place(t, { 'home/.skein/config.toml': 'model = "own"' })
  const settings = load({ home: join(home, '.skein'), cwd: home }).resolve({ cwd: home })
  t.strictSame([settings.model, settings.notices], ['own', []])
})
