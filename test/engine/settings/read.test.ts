import { join } from 'node:path'
import t from 'tap'
import { versionOf } from '../../../src/engine/settings/config-file.ts'
import { requirements } from '../../../src/engine/settings/read.ts'
import { DEFAULTS, NULL_KEYS } from '../../../src/engine/settings/read-defaults.ts'
import { place, refusal } from './home.ts'

const FILE = `model = "gpt-5.4"
approval_policy = "on-failure"
project_root_markers = []
totally.unknown = 1
[model_providers.mock]
name = "mock"
request_max_retries = 0
[mcp_servers.x]
args = ["a", "b"]
[features]
[sandbox_workspace_write]
network_access = true
`

const provider = {
  name: 'mock',
  base_url: null,
  env_key: null,
  env_key_instructions: null,
  experimental_bearer_token: null,
  auth: null,
  aws: null,
  wire_api: 'responses',
  query_params: null,
  http_headers: null,
  env_http_headers: null,
  request_max_retries: 0,
  stream_max_retries: null,
  stream_idle_timeout_ms: null,
  websocket_connect_timeout_ms: null,
  requires_openai_auth: false,
  supports_websockets: false,
}

t.test('it shows what counts, where it comes from, and the layers when asked', async t => {
  const { home, load } = place(t, { 'home/config.toml': FILE })
  const settings = load({ flags: ['model=flag', 'durability=process'] })
  const file = join(home, 'config.toml')
  const user = { source: { type: 'user', file, profile: null }, version: versionOf(FILE) }
  const flags = { source: { type: 'flags' }, version: versionOf('{"model":"flag","durability":"process"}') }
  const read = settings.read({ cwd: null, includeLayers: false })
  t.strictSame(read, {
    config: {
      ...Object.fromEntries(NULL_KEYS.map(key => [key, null])),
      ...DEFAULTS,
      model: 'flag',
      approval_policy: 'on-request',
      project_root_markers: [],
      model_providers: { mock: provider },
      mcp_servers: { x: { environment_id: 'local', enabled: true, tool_timeout_sec: null, args: ['a', 'b'] } },
      sandbox_workspace_write: {
        writable_roots: [],
        network_access: true,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
      },
      durability: 'process',
    },
    origins: {
      model: flags,
      approval_policy: user,
      'totally.unknown': user,
      'model_providers.mock.name': user,
      'model_providers.mock.request_max_retries': user,
      'mcp_servers.x.args.0': user,
      'mcp_servers.x.args.1': user,
      'sandbox_workspace_write.network_access': user,
      durability: flags,
    },
    layers: null,
  })
  t.strictSame(
    settings
      .read({ cwd: null, includeLayers: true })
      .layers?.map(({ config, ...layer }) => [layer, Object.keys(config)]),
    [
      [{ ...flags, disabledReason: null }, ['model', 'durability']],
      [
        { ...user, disabledReason: null },
        [
          'model',
          'approval_policy',
          'project_root_markers',
          'totally',
          'model_providers',
          'mcp_servers',
          'features',
          'sandbox_workspace_write',
        ],
      ],
    ],
  )
})

t.test('it reads a project with its folder, and shows one that is not trusted as disabled and unread', async t => {
  const { home, cwd, put, load } = place(t, {
    'cwd/.git/HEAD': '',
    'cwd/.skein/config.toml': 'model = "project"\n',
    'cwd/sub/x': '',
  })
  const settings = load()
  const layers = () => settings.read({ cwd: join(cwd, 'sub'), includeLayers: true }).layers?.[0]
  const source = { type: 'project', folder: join(cwd, '.skein') }
  t.strictSame(layers(), {
    source,
    version: versionOf(''),
    config: {},
    disabledReason: `The project's configuration is not loaded until ${cwd} is a trusted project in ${join(home, 'config.toml')}.`,
  })
  put('home/config.toml', `[projects.${JSON.stringify(cwd)}]\ntrust_level = "trusted"\n`)
  const version = versionOf('model = "project"\n')
  t.strictSame(layers(), { source, version, config: { model: 'project' }, disabledReason: null })
  const { config, origins } = settings.read({ cwd: 'sub', includeLayers: false })
  t.strictSame([config.model, origins.model], ['project', { source, version }], 'a relative cwd counts from the server')
  t.equal(settings.read({ cwd: null, includeLayers: false }).config.model, null)
})

t.test('it says why a broken or wrong configuration cannot be read', async t => {
  const { home, put, load } = place(t, { 'home/config.toml': 'x\n' })
  const settings = load()
  const read = () => settings.read({ cwd: null, includeLayers: true })
  t.strictSame(await refusal(read), {
    code: 'configInvalid',
    message: `failed to read configuration layers: ${home}/config.toml:1:2: key with no value, expected \`=\``,
  })
  put('home/config.toml', 'model = 5\n')
  t.strictSame(await refusal(read), {
    code: 'configInvalid',
    message: 'invalid configuration: invalid type: integer `5`, expected a string\nin `model`\n',
  })
  t.equal(requirements(), null)
})
