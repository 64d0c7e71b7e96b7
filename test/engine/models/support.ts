import type { ContextEntry, ModelEvent, ModelFailure, ModelRequest, Part } from '../../../src/engine/models/model.ts'
import { NO_SETTINGS } from '../../../src/engine/models/model-settings.ts'
import { bareProvider, type ProviderConfig } from '../../../src/engine/models/provider.ts'
import { target } from '../../../src/engine/models/resolve.ts'
import type { Target, Wire } from '../../../src/engine/models/wire.ts'

export const text = (string: string): Part => ({ type: 'text', text: string })
export const user = (...parts: readonly (string | Part)[]): ContextEntry => message('user', parts)
export const developer = (...parts: readonly (string | Part)[]): ContextEntry => message('developer', parts)

const message = (role: 'user' | 'developer', parts: readonly (string | Part)[]): ContextEntry => ({
  type: 'message',
  role,
  parts: parts.map(part => (typeof part === 'string' ? text(part) : part)),
})

type Of<T extends ContextEntry['type']> = Extract<ContextEntry, { readonly type: T }>

export const call = (id: string, more: Partial<Of<'call'>> = {}): Of<'call'> => ({
  type: 'call',
  id,
  name: 'exec_command',
  namespace: null,
  args: '{"cmd":"ls"}',
  freeform: false,
  opaque: {},
  ...more,
})

export const result = (
  id: string,
  output: string | readonly Part[],
  more: Partial<Of<'result'>> = {},
): Of<'result'> => ({
  type: 'result',
  id,
  name: 'exec_command',
  freeform: false,
  parts: typeof output === 'string' ? [text(output)] : output,
  isError: false,
  ...more,
})

/** A request that asks for nothing in particular. */
export const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: 'base',
  context: [user('hi')],
  tools: [],
  effort: null,
  summary: null,
  serviceTier: null,
  outputSchema: null,
  cacheKey: 'thread-1',
  ...more,
})

export const provider = (more: Partial<ProviderConfig> = {}): ProviderConfig => ({
  ...bareProvider('mock'),
  baseUrl: 'http://127.0.0.1:9/v1',
  custom: true,
  ...more,
})

export const targetOf = (model: string, more: Partial<ProviderConfig> = {}): Target =>
  target(provider(more), model, NO_SETTINGS)

/** What `wire` makes of a stream of events (objects, or raw data); `failure` is how the stream ended. */
export function decode(
  wire: Wire,
  events: readonly (object | string)[],
  more: { readonly request?: ModelRequest; readonly target?: Target; readonly failure?: ModelFailure | null } = {},
): readonly ModelEvent[] {
  const out: ModelEvent[] = []
  const decoder = wire.decoder(
    more.request ?? request(),
    more.target ?? targetOf('gpt-5.4'),
    event => void out.push(event),
  )
  for (const event of events) decoder.data(typeof event === 'string' ? event : JSON.stringify(event))
  decoder.end(more.failure ?? null)
  return out
}

/** The items that ended, in order. */
export const ended = (events: readonly ModelEvent[]) =>
  events.flatMap(event => (event.type === 'item.end' ? [event.item] : []))

/** The deltas of one type put together. */
export const deltas = (events: readonly ModelEvent[], type: 'text' | 'args' | 'summary' | 'reasoning'): string =>
  events.map(event => (event.type === type ? event.delta : '')).join('')

/** How a body looks when it arrives: JSON drops what is undefined. */
export const onWire = (body: object): unknown => JSON.parse(JSON.stringify(body))
