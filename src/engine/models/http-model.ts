import { isLoopback } from './agents.ts'
import type { Model, ModelEvent, ModelFailure, ModelInfo, ModelRequest } from './model.ts'
import type { ProviderConfig } from './provider.ts'
import { type Post, post } from './transport.ts'
import type { Target, Wire } from './wire.ts'

/** Milliseconds a provider far away has to send its headers. A local one may be loading a model: it has the idle time. */
const HEADER_MS = 60_000

/** A model behind HTTP: encodes a request, posts it, decodes the stream. Keys are looked up in `env` at each request. */
export class HttpModel implements Model {
  readonly info: ModelInfo
  readonly #wire: Wire
  readonly #target: Target
  readonly #env: NodeJS.ProcessEnv

  constructor(wire: Wire, target: Target, env: NodeJS.ProcessEnv) {
    this.info = target.info
    this.#wire = wire
    this.#target = target
    this.#env = env
  }

  async stream(request: ModelRequest, emit: (event: ModelEvent) => void, signal: AbortSignal): Promise<void> {
    let over = false
    const give = (event: ModelEvent): void => {
      if (over) return
      over = event.type === 'finish' || event.type === 'error'
      emit(event)
    }
    const headers = authorized(this.#target.provider, this.#env)
    if ('failure' in headers) return give({ type: 'error', error: headers.failure })
    const decoder = this.#wire.decoder(request, this.#target, give)
    const body = JSON.stringify(this.#wire.encode(request, this.#target))
    const read = (data: string): boolean => {
      decoder.data(data)
      return over
    }
    decoder.end(await post(this.#post(headers.headers, body), read, signal))
  }

  #post(headers: Readonly<Record<string, string>>, body: string): Post {
    const { provider } = this.#target
    const { idleTimeoutMs } = provider
    const url = endpoint(provider, this.#wire.path)
    const headerTimeoutMs = isLoopback(url) ? idleTimeoutMs : Math.min(HEADER_MS, idleTimeoutMs)
    return { url, headers, body, headerTimeoutMs, idleTimeoutMs, env: this.#env }
  }
}

/** `path` below the provider's base URL, with its query parameters. */
export function endpoint({ baseUrl, queryParams }: ProviderConfig, path: string): URL {
  const url = new URL(baseUrl)
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(queryParams)) url.searchParams.set(name, value)
  return url
}

/** The headers of a request to `provider`, or why there can be none: its key is missing. */
export function authorized(
  provider: ProviderConfig,
  env: NodeJS.ProcessEnv,
): { readonly headers: Readonly<Record<string, string>> } | { readonly failure: ModelFailure } {
  const { envKey, bearerToken } = provider
  const key = bearerToken ?? (envKey === null ? null : (env[envKey]?.trim() ?? ''))
  if (key === '') return { failure: missingKey(provider) }
  const fromEnv = Object.entries(provider.envHeaders).flatMap(([name, variable]) => {
    const value = env[variable]?.trim()
    return value ? [[name, value] as const] : []
  })
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }
  return { headers: { 'user-agent': 'skein', ...authorization, ...provider.headers, ...Object.fromEntries(fromEnv) } }
}

/** Codex's words, and which provider wants the key. */
function missingKey({ name, envKey, envKeyHelp }: ProviderConfig): ModelFailure {
  const message = `Missing environment variable: \`${envKey}\`. The model provider ${name} needs it.`
  return { kind: 'failed', code: 'missing_key', message: envKeyHelp ? `${message} ${envKeyHelp}` : message }
}
