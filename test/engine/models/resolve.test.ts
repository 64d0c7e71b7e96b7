import t from 'tap'
import { metadataWarning, modelInfo } from '../../../src/engine/models/catalogue.ts'
import { type ModelConfig, readModelSettings } from '../../../src/engine/models/model-settings.ts'
import { BUILT_IN_PROVIDERS, Models } from '../../../src/engine/models/models.ts'
import { PRESETS } from '../../../src/engine/models/provider.ts'
import { readProvider } from '../../../src/engine/models/provider-config.ts'
import { provider } from './support.ts'

const config = (more: Partial<ModelConfig> = {}): ModelConfig => ({
  model: null,
  modelProvider: null,
  modelProviders: {},
  contextWindow: null,
  verbosity: null,
  ...more,
})
const custom = (model: string | null, more: object = {}): ModelConfig =>
  config({ model, modelProvider: 'mine', modelProviders: { mine: { base_url: 'http://127.0.0.1:1/v1', ...more } } })

/** `provider model`, with `!` when another model than the one asked for runs. */
const chosen = (
  name: string | null,
  from: ModelConfig,
  env: NodeJS.ProcessEnv = {},
  on: string | null = null,
): string => {
  const { model, provider, warning } = new Models(env).choose(from, { name, provider: on })
  return `${provider} ${model}${warning?.includes('is not available') ? ' !' : ''}`
}

t.test('it picks the default by configuration, then by key, then offline', async t => {
  const cases: readonly [string, ModelConfig, NodeJS.ProcessEnv, string, string][] = [
    [
      'nothing',
      config(),
      {},
      'offline offline',
      'no model is configured and the environment has no key of a provider (docs/config.md)',
    ],
    ['a key', config(), { OPENAI_API_KEY: 'k' }, 'openai gpt-5.5', 'the environment has OPENAI_API_KEY'],
    [
      'another key',
      config(),
      { OPENROUTER_API_KEY: 'k' },
      'openrouter openrouter/auto',
      'the environment has OPENROUTER_API_KEY',
    ],
    [
      'two keys',
      config(),
      { GROQ_API_KEY: 'k', DEEPSEEK_API_KEY: 'k' },
      'deepseek deepseek-chat',
      'the environment has DEEPSEEK_API_KEY',
    ],
    [
      'an empty key',
      config(),
      { OPENAI_API_KEY: ' ' },
      'offline offline',
      'no model is configured and the environment has no key of a provider (docs/config.md)',
    ],
    [
      'both',
      custom('mock-model'),
      { OPENAI_API_KEY: 'k' },
      'mine mock-model',
      'config.toml says model_provider "mine" and model "mock-model"',
    ],
    [
      'a provider',
      config({ modelProvider: 'groq' }),
      {},
      'groq openai/gpt-oss-120b',
      'config.toml says model_provider "groq"',
    ],
    [
      'a server',
      config({ modelProvider: 'ollama' }),
      {},
      'ollama default',
      'config.toml says model_provider "ollama" (it does not say which model: set `model`)',
    ],
    [
      'a known model',
      config({ model: 'gpt-5.4' }),
      { OPENAI_API_KEY: 'k' },
      'openai gpt-5.4',
      'config.toml says model "gpt-5.4"',
    ],
    ['a model without key', config({ model: 'gpt-5.4' }), {}, 'openai gpt-5.4', 'config.toml says model "gpt-5.4"'],
    [
      'a model for the one key',
      config({ model: 'meta/llama-4' }),
      { OPENROUTER_API_KEY: 'k' },
      'openrouter meta/llama-4',
      'config.toml says model "meta/llama-4"',
    ],
    [
      'a model with its provider',
      config({ model: 'groq/llama-4' }),
      { GROQ_API_KEY: 'k' },
      'groq llama-4',
      'config.toml says model "groq/llama-4"',
    ],
    [
      'offline by name',
      config({ model: 'offline' }),
      { OPENAI_API_KEY: 'k' },
      'offline offline',
      'config.toml says model "offline"',
    ],
    [
      'a model in front of its provider',
      config({ model: 'openrouter/meta/llama-4', modelProvider: 'openrouter' }),
      {},
      'openrouter meta/llama-4',
      'config.toml says model_provider "openrouter" and model "openrouter/meta/llama-4"',
    ],
  ]
  for (const [name, from, env, expected, reason] of cases) {
    const usual = new Models(env).default(from)
    t.strictSame([`${usual.provider.id} ${usual.info.id}`, usual.reason], [expected, reason], name)
    t.equal(chosen(null, from, env), expected, `${name}: nobody names one`)
  }
})

t.test('it runs what a client names, where somebody has it', async t => {
  const keys = { OPENAI_API_KEY: 'k', OPENROUTER_API_KEY: 'k', GROQ_API_KEY: 'k' }
  const two = {
    ...custom('m'),
    modelProviders: { mine: { base_url: 'http://a/v1' }, other: { base_url: 'http://b/v1' } },
  }
  const cases: readonly [string, string | null, ModelConfig, NodeJS.ProcessEnv, string | null, string][] = [
    [
      'a codex name on a custom provider (golden turn-overrides)',
      'gpt-5.5',
      custom('gpt-5.4'),
      {},
      null,
      'mine gpt-5.5',
    ],
    ['any name on a custom provider', 'some-model', custom('gpt-5.4'), {}, null, 'mine some-model'],
    ['any name on a custom provider without model', 'gpt-5.5', custom(null), {}, null, 'mine gpt-5.5'],
    ["a client's habit on a provider of other models", 'gpt-5.6-luna', custom('llama-4'), {}, null, 'mine llama-4 !'],
    ["a client's habit, while OpenAI is set up", 'gpt-5.4', custom('llama-4'), keys, null, 'openai gpt-5.4'],
    ['another model there', 'qwen3:8b', custom('llama-4'), {}, null, 'mine qwen3:8b'],
    ['a name with a slash there', 'qwen/qwen3', custom('llama-4'), {}, null, 'mine qwen/qwen3'],
    [
      'the configured name, whatever it looks like',
      'openai/gpt-4o',
      custom('openai/gpt-4o'),
      keys,
      null,
      'mine openai/gpt-4o',
    ],
    [
      'a gateway name that starts like a provider with a key',
      'openai/gpt-4o',
      custom('m'),
      keys,
      null,
      'mine openai/gpt-4o',
    ],
    ['a model of the other configured provider', 'other/x', two, {}, null, 'other x'],
    ['its own provider in front', 'mine/x', custom('m'), {}, null, 'mine x'],
    ['only its own provider', 'mine/', custom('m'), {}, null, 'mine mine/'],
    ['offline, by name', 'offline', custom('m'), {}, null, 'offline offline'],
    ['offline, a name of a client', 'gpt-5.5', config(), {}, null, 'offline offline !'],
    ['offline, with its provider', 'offline/offline', config(), {}, null, 'offline offline'],
    ['OpenAI, its own name', 'gpt-5.9', config(), keys, null, 'openai gpt-5.9'],
    ['OpenAI, a foreign name', 'llama-4', config(), { OPENAI_API_KEY: 'k' }, null, 'openai gpt-5.5 !'],
    [
      "OpenRouter's own name on OpenRouter",
      'openrouter/auto',
      config(),
      keys,
      'openrouter',
      'openrouter openrouter/auto',
    ],
    ['a vendor on OpenRouter', 'openai/gpt-5.4', config(), keys, 'openrouter', 'openrouter openai/gpt-5.4'],
    [
      'OpenRouter twice on OpenRouter',
      'openrouter/meta/llama:free',
      config(),
      keys,
      'openrouter',
      'openrouter meta/llama:free',
    ],
    ['OpenRouter from elsewhere', 'openrouter/meta/llama:free', config(), keys, null, 'openrouter meta/llama:free'],
    ['a codex name on OpenRouter', 'gpt-5.4', config(), keys, 'openrouter', 'openai gpt-5.4'],
    [
      'a codex name on OpenRouter, alone',
      'gpt-5.4',
      config(),
      { OPENROUTER_API_KEY: 'k' },
      null,
      'openrouter openrouter/auto !',
    ],
    ["Groq's name that looks like OpenAI's", 'openai/gpt-oss-20b', config(), keys, 'groq', 'groq openai/gpt-oss-20b'],
    ["OpenAI's name on a thread of Groq", 'openai/gpt-5.4', config(), keys, 'groq', 'openai gpt-5.4'],
    ['a provider without key', 'groq/llama-4', config(), {}, null, 'offline offline !'],
    ['a server that nobody configured', 'ollama/llama-4', config(), {}, null, 'offline offline !'],
    [
      'a server that is configured',
      'ollama/llama-4',
      config({ modelProviders: { ollama: {} } }),
      {},
      null,
      'ollama llama-4',
    ],
    ['blanks', '  ', custom('m'), {}, null, 'mine m'],
    ['no name on a thread of another provider', null, custom('m'), {}, 'groq', 'groq openai/gpt-oss-120b'],
    ['a provider that is gone', null, custom('m'), {}, 'gone', 'mine m !'],
    ['a name on a provider that is gone', 'm', custom('m'), {}, 'gone', 'mine m'],
    ['a hostile name', '__proto__', config(), {}, null, 'offline offline !'],
  ]
  for (const [title, name, from, env, on, expected] of cases) t.equal(chosen(name, from, env, on), expected, title)
})

t.test('it warns of a model that is not there and of one that nobody knows', async t => {
  const warning = (name: string | null, from: ModelConfig, on: string | null = null) =>
    new Models({}).choose(from, { name, provider: on }).warning
  t.equal(warning('gpt-5.4', custom('gpt-5.4')), null)
  t.equal(warning(null, config()), null)
  t.equal(
    warning(null, custom('mock-model')),
    'Model metadata for `mock-model` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.',
  )
  t.equal(
    warning('gpt-5.5', config()),
    'Model `gpt-5.5` is not available on this server. `offline` (Offline) runs instead.',
  )
  t.equal(
    warning(null, custom('gpt-5.4'), 'gone'),
    'The provider of this thread is not available on this server. `gpt-5.4` (mine) runs instead.',
  )
})

t.test('it tells what it knows of a model, and guesses the rest', async t => {
  const openai = PRESETS.find(({ id }) => id === 'openai')!
  const known = modelInfo(openai, 'gpt-5.4', null)
  t.match(known, {
    id: 'gpt-5.4',
    provider: 'openai',
    displayName: 'gpt-5.4',
    defaultEffort: 'medium',
    images: true,
    contextWindow: 258_400,
    freeformTools: true,
    known: true,
  })
  t.strictSame(
    known.efforts.map(({ effort }) => effort),
    ['low', 'medium', 'high', 'xhigh'],
  )
  const unknown = modelInfo(provider(), 'mock-model', null)
  t.strictSame(
    { ...unknown, efforts: unknown.efforts.map(({ effort }) => effort) },
    {
      id: 'mock-model',
      provider: 'mock',
      displayName: 'mock-model',
      description: 'A model of mock.',
      efforts: ['none', 'low', 'medium', 'high'],
      defaultEffort: 'none',
      images: true,
      contextWindow: 258_400,
      freeformTools: false,
      known: false,
    },
  )
  t.equal(modelInfo(provider({ wire: 'chat' }), 'llama', null).contextWindow, null)
  t.equal(modelInfo(provider({ wire: 'chat' }), 'llama', 8192).contextWindow, 7782)
  t.equal(metadataWarning(known), null)
  const windowed = new Models({}).default({ ...custom('gpt-5.4'), contextWindow: 100_000 })
  t.equal(windowed.info.contextWindow, 95_000)
  const other = await new Models({}).open(
    { model: 'gpt-5.5', provider: 'mine' },
    { ...custom('gpt-5.4'), contextWindow: 100_000 },
  )
  t.equal(other.model.info.contextWindow, 258_400, 'a configured window is that of the configured model')
})

t.test('it lists models under names that lead back to them', async t => {
  const names = (from: ModelConfig, env: NodeJS.ProcessEnv = {}) =>
    new Models(env)
      .list(from)
      .map(({ name, isDefault, hidden }) => `${name}${isDefault ? '*' : ''}${hidden ? '-' : ''}`)
  const gpt = ['gpt-5.5', 'gpt-5.4', 'gpt-5.4-mini', 'gpt-5.3-codex', 'gpt-5.2', 'codex-auto-review-']
  const marked = (id: string) => gpt.map(name => (name === id ? `${name}*` : name))
  const cases: readonly [ModelConfig, NodeJS.ProcessEnv, readonly string[]][] = [
    [config(), {}, ['offline*']],
    [config(), { OPENAI_API_KEY: 'k' }, [...marked('gpt-5.5'), 'offline-']],
    [custom('gpt-5.4'), { OPENAI_API_KEY: 'k' }, [...marked('gpt-5.4'), 'offline-']],
    [custom('mock-model'), {}, ['mock-model*', 'offline-']],
    [custom('llama', { wire_api: 'chat' }), {}, ['llama*', 'offline-']],
    [config(), { OPENROUTER_API_KEY: 'k', DEEPSEEK_API_KEY: 'k' }, ['openrouter/auto*', 'offline-']],
    [
      config({ model: 'grok-4', modelProvider: 'xai' }),
      { XAI_API_KEY: 'k', OPENAI_API_KEY: 'k' },
      ['grok-4*', ...gpt.map(name => `openai/${name}`), 'offline-'],
    ],
  ]
  for (const [from, env, expected] of cases) {
    t.strictSame(names(from, env), expected)
    for (const { name, info } of new Models(env).list(from)) {
      t.equal(chosen(name, from, env), `${info.provider} ${info.id}`, `${name} can be chosen`)
    }
  }
  t.match(new Models({}).list(custom('gpt-5.4'))[3], {
    name: 'gpt-5.3-codex',
    upgrade: 'gpt-5.4',
    supportsPersonality: true,
    serviceTiers: [],
  })
})

t.test('it reads a provider table', async t => {
  t.strictSame(
    readProvider('p', {
      name: 'P',
      base_url: 'https://p.test/v1',
      env_key: 'P_KEY',
      env_key_instructions: 'Get one.',
      experimental_bearer_token: 'tok',
      wire_api: 'chat',
      http_headers: { 'X-A': 'a' },
      env_http_headers: { 'X-B': 'B' },
      query_params: { v: '1' },
      request_max_retries: 1000,
      stream_max_retries: 0n,
      stream_idle_timeout_ms: 4000,
      supports_websockets: false,
      unheard_of: {},
    }),
    {
      id: 'p',
      name: 'P',
      baseUrl: 'https://p.test/v1',
      wire: 'chat',
      envKey: 'P_KEY',
      envKeyHelp: 'Get one.',
      bearerToken: 'tok',
      headers: { 'X-A': 'a' },
      envHeaders: { 'X-B': 'B' },
      queryParams: { v: '1' },
      requestMaxRetries: 100,
      streamMaxRetries: 0,
      idleTimeoutMs: 4000,
      scriptFile: null,
      defaultModel: null,
      custom: true,
    },
  )
  t.match(readProvider('p', { base_url: 'http://p.test' }), {
    name: 'p',
    wire: 'responses',
    envKey: null,
    requestMaxRetries: 4,
    streamMaxRetries: 5,
    idleTimeoutMs: 300_000,
  })
  t.match(readProvider('p', { base_url: 'http://p.test', requires_openai_auth: true }), { envKey: 'OPENAI_API_KEY' })
  t.match(readProvider('ollama', { base_url: 'http://box:11434/v1' }), {
    name: 'Ollama',
    wire: 'chat',
    baseUrl: 'http://box:11434/v1',
    custom: true,
  })
  t.match(readProvider('offline', { stream_max_retries: 2 }), { wire: 'offline', streamMaxRetries: 2 })
})

t.test('it names the key that is wrong', async t => {
  const url = { base_url: 'http://p.test' }
  const cases: readonly [unknown, string][] = [
    [5, 'model_providers.p: wants a table'],
    [{}, 'model_providers.p.base_url: is missing'],
    [{ base_url: 'p.test/v1' }, 'model_providers.p.base_url: wants a URL that starts with http:// or https://'],
    [{ base_url: 'ftp://p.test' }, 'model_providers.p.base_url: wants a URL that starts with http:// or https://'],
    [{ ...url, name: 5 }, 'model_providers.p.name: wants a string'],
    [{ ...url, env_key: '' }, 'model_providers.p.env_key: wants the name of a variable'],
    [
      { ...url, wire_api: 'soap' },
      'model_providers.p.wire_api: unknown variant `soap`, expected `responses` or `chat`',
    ],
    [
      { ...url, wire_api: 'anthropic' },
      'model_providers.p.wire_api: `anthropic` is not supported yet; `responses` and `chat` are',
    ],
    [
      { ...url, wire_api: 'google' },
      'model_providers.p.wire_api: `google` is not supported yet; `responses` and `chat` are',
    ],
    [{ ...url, http_headers: [] }, 'model_providers.p.http_headers: wants a table of strings'],
    [{ ...url, http_headers: { a: 1 } }, 'model_providers.p.http_headers.a: wants a string'],
    [{ ...url, http_headers: { 'a b': 'x' } }, 'model_providers.p.http_headers.a b: is no header name'],
    [
      { ...url, http_headers: { a: 'x\r\ny: z' } },
      'model_providers.p.http_headers.a: has a character that no header can carry',
    ],
    [{ ...url, query_params: { v: null } }, 'model_providers.p.query_params.v: wants a string'],
    [{ ...url, request_max_retries: -1 }, 'model_providers.p.request_max_retries: wants a whole number from 0'],
    [{ ...url, stream_idle_timeout_ms: 1.5 }, 'model_providers.p.stream_idle_timeout_ms: wants a whole number from 0'],
    [{ ...url, stream_max_retries: '3' }, 'model_providers.p.stream_max_retries: wants a whole number from 0'],
  ]
  for (const [table, expected] of cases) t.equal(readProvider('p', table), expected)
  t.equal(readModelSettings(config({ modelProviders: { p: {} } })), 'model_providers.p.base_url: is missing')
  t.equal(readModelSettings(config({ modelProvider: 'nope' })), 'Model provider `nope` not found')
  t.throws(() => chosen(null, config({ modelProvider: 'nope' })), {
    code: 'configInvalid',
    message: 'Model provider `nope` not found',
  })
})

t.test('it moves OpenAI by configuration or environment', async t => {
  const at = (from: ModelConfig, env: NodeJS.ProcessEnv) =>
    new Models({ OPENAI_API_KEY: 'k', ...env }).default(from).provider.baseUrl
  t.equal(at(config(), {}), 'https://api.openai.com/v1')
  t.equal(at(config(), { OPENAI_BASE_URL: 'http://proxy.test/v1' }), 'http://proxy.test/v1')
  t.equal(at(config(), { OPENAI_BASE_URL: 'nonsense' }), 'https://api.openai.com/v1')
  t.equal(
    at(config({ table: { openai_base_url: 'http://table.test/v1' } }), { OPENAI_BASE_URL: 'http://proxy.test/v1' }),
    'http://table.test/v1',
  )
})

t.test('it has presets that are whole', async t => {
  t.strictSame(BUILT_IN_PROVIDERS, [
    'openai',
    'openrouter',
    'deepseek',
    'groq',
    'xai',
    'mistral',
    'ollama',
    'lmstudio',
    'llamacpp',
    'vllm',
    'offline',
  ])
  for (const { id, baseUrl, wire } of PRESETS) t.ok(wire === 'offline' || URL.canParse(baseUrl), id)
})

t.test('it follows a model that was picked from another provider, beside the old model_provider', async t => {
  const openai = { base_url: 'http://127.0.0.1:1/v1', experimental_bearer_token: 'k' }
  const at = (model: string | null, modelProvider: string, more: object = {}): ModelConfig =>
    config({ model, modelProvider, modelProviders: { openai, ...more } })
  const mine = { mine: { base_url: 'http://127.0.0.1:1/v1' } }
  const cases: readonly [string | null, string, string][] = [
    [null, 'offline', 'offline offline'],
    ['openai/gpt-5.5', 'offline', 'openai gpt-5.5'],
    ['gpt-5.5', 'offline', 'offline gpt-5.5'],
    ['openai/gpt-5.5', 'mine', 'openai gpt-5.5'],
    ['meta/llama', 'mine', 'mine meta/llama'],
    ['openai/gpt-5.5', 'openrouter', 'openrouter openai/gpt-5.5'],
  ]
  for (const [model, home, expected] of cases) {
    const from = at(model, home, home === 'mine' ? mine : {})
    t.equal(chosen(null, from), expected, `${model} on ${home}`)
    if (model !== null) t.equal(chosen(model, from, {}, home), expected, `${model} on a thread of ${home}`)
  }
  const names = (model: string | null) => new Models({}).list(at(model, 'offline')).filter(({ hidden }) => !hidden)
  const usual = names(null).map(({ name }) => name)
  t.strictSame(usual.slice(0, 2), ['offline', 'openai/gpt-5.5'])
  const picked = names('openai/gpt-5.5')
  t.strictSame(
    picked.map(({ name }) => name),
    usual,
    'a pick changes no name',
  )
  t.strictSame(
    picked.filter(({ isDefault }) => isDefault).map(({ name }) => name),
    ['openai/gpt-5.5'],
  )
})
