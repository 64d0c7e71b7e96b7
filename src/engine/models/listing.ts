import { findModel, isOpenAiName, knownModels, modelInfo } from './catalogue.ts'
import type { CatalogueModel, ServiceTier } from './catalogue-data.ts'
import type { ModelInfo } from './model.ts'
import { configuredProviders, type ModelSettings } from './model-settings.ts'
import { isReady, type ProviderConfig } from './provider.ts'
import { type Default, pickDefault } from './resolve.ts'

/** A model as a client's picker shows it. */
export interface ListedModel {
  /** What a client sends to choose it: its id, with the provider in front when it is not the default one's. */
  readonly name: string
  readonly info: ModelInfo
  readonly isDefault: boolean
  readonly hidden: boolean
  readonly supportsPersonality: boolean
  readonly speedTiers: readonly string[]
  readonly serviceTiers: readonly ServiceTier[]
  readonly upgrade: string | null
}

/**
 * The models that can be chosen: the home provider's first, then those of the other providers that are set up, the default
 * among them. Hidden ones are in it, marked. Every `name` resolves to the model it stands for, also when it is written into
 * the configuration. Home is `model_provider`, which clients leave as it was when a person picks another provider's model.
 */
export function listModels(settings: ModelSettings, env: NodeJS.ProcessEnv): readonly ListedModel[] {
  const usual = pickDefault(settings, env)
  const providers = configuredProviders(settings, env)
  const home = providers.find(({ id }) => id === settings.provider) ?? usual.provider
  const others = providers.filter(({ id }) => id !== home.id)
  const shown = others.filter(provider => provider.id === usual.provider.id || isOffered(provider, home, env))
  return [home, ...shown].flatMap(provider => {
    const ids = provider.id === usual.provider.id ? idsOf(usual) : offered(provider)
    return ids.map(id => listed(provider, id, { usual, home }))
  })
}

/** The default provider's models. One configured for a model of another kind has none of OpenAI's. */
function idsOf({ info, provider }: Default): readonly string[] {
  const known = knownModels(provider).map(model => model.id)
  if (known.includes(info.id)) return known
  return provider.custom && !isOpenAiName(info.id) ? [info.id] : [info.id, ...known]
}

/**
 * Keys that merely lie in the environment offer nothing where a person configured a provider of their own, nor beside
 * OpenRouter, whose own names look like `provider/model`.
 */
function isOffered(provider: ProviderConfig, home: ProviderConfig, env: NodeJS.ProcessEnv): boolean {
  const alone = home.custom || home.id === 'openrouter'
  return isReady(provider, env) && (provider.custom || provider.wire === 'offline' || !alone)
}

/** What another provider offers: OpenAI its known models, the rest the one that they run by default. */
function offered(provider: ProviderConfig): readonly string[] {
  if (provider.id === 'openai') return knownModels(provider).map(model => model.id)
  return provider.defaultModel === null ? [] : [provider.defaultModel]
}

interface Place {
  readonly usual: Default
  readonly home: ProviderConfig
}

function listed(provider: ProviderConfig, id: string, { usual, home }: Place): ListedModel {
  const known: CatalogueModel | undefined = findModel(provider, id)
  const isOwn = provider.id === home.id
  const isDefault = provider.id === usual.provider.id && id === usual.info.id
  const bare = isOwn || provider.wire === 'offline' || id.startsWith(`${provider.id}/`)
  return {
    name: bare ? id : `${provider.id}/${id}`,
    info: isDefault ? usual.info : modelInfo(provider, id, null),
    isDefault,
    hidden: !isDefault && (known?.hidden === true || (provider.wire === 'offline' && !isOwn)),
    supportsPersonality: known?.supportsPersonality ?? false,
    speedTiers: known?.speedTiers ?? [],
    serviceTiers: known?.serviceTiers ?? [],
    upgrade: known?.upgrade ?? null,
  }
}
