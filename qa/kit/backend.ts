import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { MockModel } from '../mock-model.ts'
import type { Place } from './place.ts'

/** Which model stands behind the server under test. All three understand the same directives. */
export const BACKENDS = ['offline', 'responses', 'chat'] as const
export type Backend = (typeof BACKENDS)[number]

/** A model that is there for the time of one judge. */
export interface OpenBackend {
  readonly kind: Backend
  /** Makes the server that will start in `place` use it. */
  configure(place: Place): void
  close(): void
}

/** The offline model needs nothing: it is what a server without configuration runs. */
export async function openBackend(kind: Backend): Promise<OpenBackend> {
  if (kind === 'offline') return { kind, configure: () => {}, close: () => {} }
  const mock = await MockModel.start()
  return {
    kind,
    configure: place => appendFileSync(join(place.state, 'config.toml'), providerConfig(mock.baseUrl, kind)),
    close: () => mock.close(),
  }
}

function providerConfig(baseUrl: string, wire: 'responses' | 'chat'): string {
  return `model = "gpt-5.4"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "${baseUrl}"
wire_api = "${wire}"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
`
}
