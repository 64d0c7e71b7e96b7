import { isObject } from '../../base/json.ts'
import { isReady, PRESETS, type ProviderConfig } from './provider.ts'
import { readProvider } from './provider-config.ts'

/** The part of a configuration that says which models there are, ready for use. */
export interface ModelSettings {
  /** `model`. */
  readonly model: string | null
  /** `model_provider`. */
  readonly provider: string | null
  /** `model_providers`, in the order of the file. */
  readonly providers: readonly ProviderConfig[]
  /** `model_context_window`, in tokens: holds for the configured model. */
  readonly contextWindow: number | null
  /** `model_verbosity`. */
  readonly verbosity: string | null
}

/** Nothing configured. */
export const NO_SETTINGS: ModelSettings = {
  model: null,
  provider: null,
  providers: [],
  contextWindow: null,
  verbosity: null,
}

/** What this part needs of a configuration that was checked for types. */
export interface ModelConfig {
  readonly model: string | null
  readonly modelProvider: string | null
  /** Tables under `model_providers`, by id. */
  readonly modelProviders: { readonly [id: string]: unknown }
  readonly contextWindow: number | null
  readonly verbosity: string | null
  /** Everything, in codex's key names: `openai_base_url` is looked up in it. */
  readonly table?: { readonly [key: string]: unknown }
}

/** Reads the providers of a configuration. A provider that cannot be used gives a text that names the key. */
export function readModelSettings(config: ModelConfig): ModelSettings | string {
  const providers: ProviderConfig[] = []
  for (const [id, table] of Object.entries(withBaseUrl(config))) {
    const provider = readProvider(id, table)
    if (typeof provider === 'string') return provider
    providers.push(provider)
  }
  const { contextWindow, verbosity } = config
  const provider = filled(config.modelProvider)
  const settings = { model: filled(config.model), provider, providers, contextWindow, verbosity }
  return provider === null ? settings : (providerProblem(provider, settings) ?? settings)
}

/** `openai_base_url` is short for `model_providers.openai.base_url`, which wins. */
function withBaseUrl({ modelProviders, table }: ModelConfig): { readonly [id: string]: unknown } {
  const url = table?.openai_base_url
  if (typeof url !== 'string' || url === '') return modelProviders
  const own = modelProviders.openai
  return { ...modelProviders, openai: { base_url: url, ...(isObject(own) && own) } }
}

const filled = (value: string | null): string | null => value?.trim() || null

/** Codex's refusal of a provider id that nobody has configured; null for one that exists. */
export function providerProblem(id: string, settings: ModelSettings): string | null {
  const exists = [...settings.providers, ...PRESETS].some(provider => provider.id === id)
  return exists ? null : `Model provider \`${id}\` not found`
}

/** Every provider there is: configured ones first, then the built-in ones that no configuration changed. */
export function allProviders({ providers }: ModelSettings, env: NodeJS.ProcessEnv): readonly ProviderConfig[] {
  const rest = PRESETS.filter(preset => !providers.some(({ id }) => id === preset.id))
  return [
    ...providers,
    ...rest.map(preset => (preset.id === 'openai' ? atBaseUrl(preset, env.OPENAI_BASE_URL) : preset)),
  ]
}

/** `OPENAI_BASE_URL` moves OpenAI, as it does for OpenAI's own clients. What is no URL is ignored. */
function atBaseUrl(provider: ProviderConfig, url: string | undefined): ProviderConfig {
  const usable = url !== undefined && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  return usable ? { ...provider, baseUrl: url } : provider
}

/**
 * The providers that somebody set up: those in config.toml, those whose key is in the environment, and `offline`. A
 * server on this machine counts only when the configuration names it, since nothing else says that it is there.
 */
export function configuredProviders(settings: ModelSettings, env: NodeJS.ProcessEnv): readonly ProviderConfig[] {
  return allProviders(settings, env).filter(provider => {
    const keyed = provider.envKey !== null && isReady(provider, env)
    return provider.custom || keyed || provider.id === settings.provider || provider.wire === 'offline'
  })
}
