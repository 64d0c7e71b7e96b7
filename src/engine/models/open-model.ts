import type { Model, ModelEvent, ModelInfo, ModelRequest } from './model.ts'
import type { Target } from './wire.ts'

/** A model for `target`. Its wire is loaded when it is first asked; `env` holds keys and proxies, read at each request. */
export const openModel = (target: Target, env: NodeJS.ProcessEnv): Model => new LazyModel(target, env)

class LazyModel implements Model {
  readonly info: ModelInfo
  readonly #target: Target
  readonly #env: NodeJS.ProcessEnv
  #model: Promise<Model> | undefined

  constructor(target: Target, env: NodeJS.ProcessEnv) {
    this.info = target.info
    this.#target = target
    this.#env = env
  }

  async stream(request: ModelRequest, emit: (event: ModelEvent) => void, signal: AbortSignal): Promise<void> {
    this.#model ??= load(this.#target, this.#env)
    return (await this.#model).stream(request, emit, signal)
  }
}

async function load(target: Target, env: NodeJS.ProcessEnv): Promise<Model> {
  switch (target.provider.wire) {
    case 'offline':
      return new (await import('./offline.ts')).OfflineModel(target.info, target.provider.scriptFile)
    case 'responses':
      return new (await import('./http-model.ts')).HttpModel((await import('./responses.ts')).responses, target, env)
    case 'chat':
      return new (await import('./http-model.ts')).HttpModel((await import('./chat.ts')).chat, target, env)
    case 'anthropic':
    case 'google':
      // Configuration refuses these names, so only a bug gets here.
      throw new Error(`the wire ${target.provider.wire} is not built yet`)
    default:
      return target.provider.wire satisfies never
  }
}
