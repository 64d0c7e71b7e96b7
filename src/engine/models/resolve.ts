import { findModel, isOpenAiName, modelInfo } from './catalogue.ts'
import { OFFLINE_MODEL } from './catalogue-data.ts'
import type { ModelInfo } from './model.ts'
import { allProviders, configuredProviders, type ModelSettings } from './model-settings.ts'
import { isReady, type ProviderConfig } from './provider.ts'
import type { Target } from './wire.ts'

/** The model that runs for a name. */
export interface Resolved extends Target {
  /** True when nobody has the name that was asked for and the default runs in its place: the thread says so once. */
  readonly replaced: boolean
}

/** The model that runs when nobody names one. */
export interface Default extends Target {
  /** Why this one, as a sentence for the banner. */
  readonly reason: string
}

/**
 * Finds the model for `name` (null: nobody named one) on a thread of provider `threadProvider` (null: the default one).
 *
 * Clients send the model of their own configuration with every turn, so a name proves little. In this order:
 * 1. `provider/model` with the thread's own provider in front is that model (OpenRouter's own `openrouter/auto` stays whole).
 * 2. The thread's provider, if it takes the name:
 *    - what the configuration names for it, and what the catalogue knows, it takes; but a person who picks `other/model` in a
 *      client leaves `model_provider` as it was, so that name is the other's (not so with OpenRouter, whose own look like it);
 *    - a provider from config.toml takes any name, since only its owner knows its models (codex does the same, with a
 *      warning that it has no metadata), except OpenAI's own names when it was configured for a model of another kind:
 *      those are a client's habit; and except `other/model` when `other` stands in config.toml too;
 *    - OpenRouter takes names with a slash (again except those of a provider in config.toml), OpenAI its own, other
 *      built-in providers any but OpenAI's and `other/model`; `offline` is the offline model everywhere.
 * 3. Any configured provider whose models are known to include it.
 * 4. `provider/model`, split at the first slash, if that provider is configured.
 * 5. The default, `replaced`.
 */
export function resolveModel(
  name: string | null,
  threadProvider: string | null,
  settings: ModelSettings,
  env: NodeJS.ProcessEnv,
): Resolved {
  const usual = pickDefault(settings, env)
  const own =
    threadProvider === null ? usual.provider : allProviders(settings, env).find(({ id }) => id === threadProvider)
  const wanted = name?.trim() || null
  if (wanted === null) return unnamed(own, usual, settings)
  const found = new Search(settings, env).find(wanted, own ?? usual.provider)
  return found ? { ...found, replaced: false } : { ...targetOf(usual), replaced: true }
}

/** The default of the thread's provider; a provider that is gone gives way to the default. */
function unnamed(own: ProviderConfig | undefined, usual: Default, settings: ModelSettings): Resolved {
  if (!own) return { ...targetOf(usual), replaced: true }
  if (own.id === usual.provider.id) return { ...targetOf(usual), replaced: false }
  return { ...target(own, firstModel(own), settings), replaced: false }
}

/** Which model runs when nobody names one: config.toml's, else that of the first provider with a key, else offline. */
export function pickDefault(settings: ModelSettings, env: NodeJS.ProcessEnv): Default {
  const { model, provider: id } = settings
  const providers = allProviders(settings, env)
  const named = providers.find(provider => provider.id === id)
  if (named) return fromProvider(named, settings, env)
  if (model !== null) return fromModel(model, settings, env)
  const keyed = configuredProviders(settings, env).find(
    ({ envKey, defaultModel }) => envKey !== null && defaultModel !== null,
  )
  if (keyed && isReady(keyed, env)) {
    return { ...target(keyed, firstModel(keyed), settings), reason: `the environment has ${keyed.envKey}` }
  }
  const offline = providers.find(({ wire }) => wire === 'offline')
  if (!offline) throw new Error('the offline provider is built in')
  const reason = 'no model is configured and the environment has no key of a provider (docs/config.md)'
  return { ...target(offline, firstModel(offline), settings), reason }
}

function fromProvider(provider: ProviderConfig, settings: ModelSettings, env: NodeJS.ProcessEnv): Default {
  const { model } = settings
  if (model !== null) {
    return {
      ...configured(model, provider, settings, env),
      reason: `config.toml says model_provider "${provider.id}" and model "${model}"`,
    }
  }
  const known = provider.defaultModel !== null
  const hint = known ? '' : ' (it does not say which model: set `model`)'
  return {
    ...target(provider, firstModel(provider), settings),
    reason: `config.toml says model_provider "${provider.id}"${hint}`,
  }
}

/** What `model` means beside `model_provider`. */
function configured(model: string, provider: ProviderConfig, settings: ModelSettings, env: NodeJS.ProcessEnv): Target {
  const rest = withoutPrefix(model, provider)
  const search = new Search(settings, env)
  const other = rest === null && !search.takes(provider, model) ? search.elsewhere(model) : undefined
  return other ?? target(provider, rest ?? model, settings)
}

/** A model without a provider is looked for like any name; as in codex, OpenAI is asked when nobody knows it. */
function fromModel(model: string, settings: ModelSettings, env: NodeJS.ProcessEnv): Default {
  const search = new Search(settings, env)
  const ready = search.configured.filter(provider => provider.wire !== 'offline' && isReady(provider, env))
  const first = ready.find(provider => search.takes(provider, model))
  const found = search.elsewhere(model) ?? (first && target(first, model, settings))
  const openai = allProviders(settings, env).find(({ id }) => id === 'openai')
  if (!found && !openai) throw new Error('the openai provider is built in')
  const reason = `config.toml says model "${model}"`
  return { ...(found ?? target(openai!, model, settings)), reason }
}

/** One look-up among what is configured. */
class Search {
  readonly configured: readonly ProviderConfig[]
  readonly #settings: ModelSettings

  constructor(settings: ModelSettings, env: NodeJS.ProcessEnv) {
    this.#settings = settings
    this.configured = configuredProviders(settings, env)
  }

  find(name: string, own: ProviderConfig): Target | undefined {
    const rest = withoutPrefix(name, own)
    if (rest !== null) return target(own, rest, this.#settings)
    return this.takes(own, name) ? target(own, name, this.#settings) : this.elsewhere(name)
  }

  /** Rules 3 and 4. */
  elsewhere(name: string): Target | undefined {
    const knowing = this.configured.find(provider => this.#knows(provider, name))
    if (knowing) return target(knowing, name, this.#settings)
    const named = this.configured.find(({ id }) => name.startsWith(`${id}/`))
    if (!named) return undefined
    return target(named, withoutPrefix(name, named) ?? name, this.#settings)
  }

  /** Rule 2. */
  takes(provider: ProviderConfig, name: string): boolean {
    if (this.#knows(provider, name)) return true
    if (provider.wire === 'offline' || this.#refusesHabit(provider, name)) return false
    if (name === OFFLINE_MODEL.id || this.#belongsToOther(provider, name)) return false
    if (provider.id === 'openrouter') return name.includes('/')
    if (provider.id === 'openai') return isOpenAiName(name) || name.startsWith('ft:')
    return provider.custom || !isOpenAiName(name)
  }

  #knows(provider: ProviderConfig, name: string): boolean {
    if (this.#modelOf(provider) === name) return provider.id === 'openrouter' || !this.#belongsToOther(provider, name)
    return findModel(provider, name) !== undefined && !this.#refusesHabit(provider, name)
  }

  #refusesHabit(provider: ProviderConfig, name: string): boolean {
    const model = this.#modelOf(provider)
    return provider.custom && isOpenAiName(name) && model !== null && !isOpenAiName(model)
  }

  #belongsToOther(provider: ProviderConfig, name: string): boolean {
    const other = this.configured.find(({ id }) => name.startsWith(`${id}/`))
    if (!other || other.id === provider.id) return false
    if (other.custom || provider.custom || provider.id === 'openrouter') return other.custom
    return other.id !== 'openai' || isOpenAiName(withoutPrefix(name, other) ?? name)
  }

  /** The model that the configuration names for `provider`. */
  #modelOf(provider: ProviderConfig): string | null {
    return provider.id === this.#settings.provider ? this.#settings.model : provider.defaultModel
  }
}

/** `name` without its provider in front; null when it has none. OpenRouter's names have a slash of their own. */
function withoutPrefix(name: string, { id }: ProviderConfig): string | null {
  if (!name.startsWith(`${id}/`)) return null
  const rest = name.slice(id.length + 1)
  return rest === '' || (id === 'openrouter' && !rest.includes('/')) ? null : rest
}

/** Only a server knows its own models; most take any word for the one they have loaded. */
const firstModel = ({ defaultModel }: ProviderConfig): string => defaultModel ?? 'default'

/** Model `id` of `provider`, known or not. A configured context window holds for the configured model. */
export function target(provider: ProviderConfig, id: string, settings: ModelSettings): Target {
  const known = findModel(provider, id)
  const isConfigured = settings.model === null || settings.model === id || settings.model === `${provider.id}/${id}`
  const info: ModelInfo = modelInfo(provider, id, isConfigured ? settings.contextWindow : null)
  const verbosity = known ? (settings.verbosity ?? known.verbosity) : settings.verbosity
  return {
    info,
    provider,
    verbosity: provider.wire === 'responses' ? verbosity : null,
    summary: known?.summary ?? null,
  }
}

const targetOf = ({ info, provider, verbosity, summary }: Target): Target => ({ info, provider, verbosity, summary })
