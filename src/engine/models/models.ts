import { EngineError } from '../errors.ts'
import { metadataWarning } from './catalogue.ts'
import { type ListedModel, listModels } from './listing.ts'
import type { Model } from './model.ts'
import { allProviders, type ModelConfig, type ModelSettings, readModelSettings } from './model-settings.ts'
import { openModel } from './open-model.ts'
import { PRESETS } from './provider.ts'
import { type Default, pickDefault, type Resolved, resolveModel, target } from './resolve.ts'
import { planRetries, type RetryPlan } from './retry.ts'
import type { Target } from './wire.ts'

/** Ids of the providers that exist without configuration. */
export const BUILT_IN_PROVIDERS: readonly string[] = PRESETS.map(({ id }) => id)

/** What somebody asked for: a name and a provider, either of which may be left open. */
export interface Asked {
  readonly name: string | null
  readonly provider: string | null
}

/** What a name turned into. */
export interface Choice {
  readonly model: string
  readonly provider: string
  /** What the user should be told: another model runs, or nobody knows this one. Null when all is as asked. */
  readonly warning: string | null
}

/** The models of a server: which there are, which one a name means, and how to talk to it. Keys and proxies come from `env`. */
export class Models {
  readonly #env: NodeJS.ProcessEnv
  /** A configuration is a value that many steps share. */
  readonly #settings = new WeakMap<ModelConfig, ModelSettings>()

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  /** The model that runs for what was asked. Throws `configInvalid` when a configured provider cannot be used. */
  choose(config: ModelConfig, { name, provider }: Asked): Choice {
    const found = resolveModel(name, provider, this.#read(config), this.#env)
    return { model: found.info.id, provider: found.provider.id, warning: warningOf(found, name) }
  }

  /** A chosen model, ready to be asked, and the retries of one step with it. Throws as `choose`. */
  async open(
    choice: Pick<Choice, 'model' | 'provider'>,
    config: ModelConfig,
  ): Promise<{ readonly model: Model; readonly retries: RetryPlan }> {
    const chosen = this.#target(choice, this.#read(config))
    return { model: openModel(chosen, this.#env), retries: planRetries(chosen.provider) }
  }

  /** What a picker shows. Throws as `choose`. */
  list(config: ModelConfig): readonly ListedModel[] {
    return listModels(this.#read(config), this.#env)
  }

  /** The model that runs when nobody names one, and why. Throws as `choose`. */
  default(config: ModelConfig): Default {
    return pickDefault(this.#read(config), this.#env)
  }

  /** A choice was made once and is kept; only when its provider is gone is it made again. */
  #target({ model, provider }: Pick<Choice, 'model' | 'provider'>, settings: ModelSettings): Target {
    const own = allProviders(settings, this.#env).find(({ id }) => id === provider)
    return own ? target(own, model, settings) : resolveModel(model, provider, settings, this.#env)
  }

  #read(config: ModelConfig): ModelSettings {
    const known = this.#settings.get(config)
    if (known) return known
    const settings = readModelSettings(config)
    if (typeof settings === 'string') throw new EngineError('configInvalid', settings)
    this.#settings.set(config, settings)
    return settings
  }
}

function warningOf({ replaced, info, provider }: Resolved, name: string | null): string | null {
  if (!replaced) return metadataWarning(info)
  const asked = name === null ? 'The provider of this thread' : `Model \`${name}\``
  return `${asked} is not available on this server. \`${info.id}\` (${provider.name}) runs instead.`
}
