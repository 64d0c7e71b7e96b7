/** The protocols a provider can speak, by their names in `wire_api`. */
export const WIRES = ['responses', 'chat', 'anthropic', 'google', 'offline'] as const
export type WireName = (typeof WIRES)[number]

/** A model provider, built in or from `model_providers.<id>` in config.toml. */
export interface ProviderConfig {
  readonly id: string
  /** What a person calls it. */
  readonly name: string
  /** http(s) URL below which the wire's paths lie; empty for `offline`. */
  readonly baseUrl: string
  readonly wire: WireName
  /** Environment variable that holds its key; null when it needs none. */
  readonly envKey: string | null
  /** What a person is told who lacks the key. */
  readonly envKeyHelp: string | null
  /** A key that stands in the configuration itself; it wins over `envKey`. */
  readonly bearerToken: string | null
  readonly headers: Readonly<Record<string, string>>
  /** Header name to the environment variable that holds its value; unset ones are left out. */
  readonly envHeaders: Readonly<Record<string, string>>
  readonly queryParams: Readonly<Record<string, string>>
  readonly requestMaxRetries: number
  readonly streamMaxRetries: number
  /** Milliseconds from one event of a stream to the next. */
  readonly idleTimeoutMs: number
  /** Absolute path of a file with scripts; only the `offline` wire reads it. */
  readonly scriptFile: string | null
  /** The model that runs when nobody names one; null when only its server knows. */
  readonly defaultModel: string | null
  /** True when config.toml has it: its owner knows its models, we do not. */
  readonly custom: boolean
}

/** Codex's numbers: retries of a request, retries of a stream, milliseconds between two events. */
const BASE: Omit<ProviderConfig, 'id' | 'name' | 'baseUrl' | 'wire'> = {
  envKey: null,
  envKeyHelp: null,
  bearerToken: null,
  headers: {},
  envHeaders: {},
  queryParams: {},
  requestMaxRetries: 4,
  streamMaxRetries: 5,
  idleTimeoutMs: 300_000,
  scriptFile: null,
  defaultModel: null,
  custom: false,
}

/** What a provider is before its configuration says more. */
export const bareProvider = (id: string): ProviderConfig => ({ ...BASE, id, name: id, baseUrl: '', wire: 'responses' })

const hosted = (id: string, name: string, baseUrl: string, envKey: string, defaultModel: string): ProviderConfig => ({
  ...BASE,
  id,
  name,
  baseUrl,
  wire: 'chat',
  envKey,
  defaultModel,
})

/** Servers on this machine need no key. They are used when they are configured, and never probed. */
const local = (id: string, name: string, port: number): ProviderConfig => ({
  ...BASE,
  id,
  name,
  baseUrl: `http://127.0.0.1:${port}/v1`,
  wire: 'chat',
})

/** The built-in providers, in the order in which a key in the environment makes one the default. */
export const PRESETS: readonly ProviderConfig[] = [
  { ...hosted('openai', 'OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'gpt-5.5'), wire: 'responses' },
  hosted('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY', 'openrouter/auto'),
  hosted('deepseek', 'DeepSeek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', 'deepseek-chat'),
  hosted('groq', 'Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY', 'openai/gpt-oss-120b'),
  hosted('xai', 'xAI', 'https://api.x.ai/v1', 'XAI_API_KEY', 'grok-4'),
  hosted('mistral', 'Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', 'mistral-medium-latest'),
  local('ollama', 'Ollama', 11434),
  local('lmstudio', 'LM Studio', 1234),
  local('llamacpp', 'llama.cpp', 8080),
  local('vllm', 'vLLM', 8000),
  // A script fails as it says, at once; who wants to see retries configures them.
  {
    ...BASE,
    id: 'offline',
    name: 'Offline',
    baseUrl: '',
    wire: 'offline',
    defaultModel: 'offline',
    requestMaxRetries: 0,
    streamMaxRetries: 0,
  },
]

/** Whether `provider` has what it needs to be asked: its key, if it needs one. */
export function isReady({ envKey, bearerToken }: ProviderConfig, env: NodeJS.ProcessEnv): boolean {
  return bearerToken !== null || envKey === null || Boolean(env[envKey]?.trim())
}
