import type { Json, JsonObject } from '../../base/json.ts'
import { KEYS } from './keys.ts'
import { type Layer, type LayerSource, merged } from './layers.ts'
import { DEFAULTS, MCP_SERVER, NULL_KEYS, PROVIDER, WORKSPACE_WRITE } from './read-defaults.ts'
import { isTable, leafPaths, merge, valueAt } from './tree.ts'

/** The configuration as a client reads it; keys are codex's. */
export interface ConfigRead {
  /** What counts, with null for codex's keys that nobody set. */
  readonly config: JsonObject
  /** For each leaf that is set, by dotted path (list elements by index), the layer that set it. */
  readonly origins: { readonly [path: string]: LayerRef }
  /** All layers, the highest first; null unless asked for. */
  readonly layers: readonly LayerView[] | null
}

export interface LayerRef {
  readonly source: LayerSource
  readonly version: string
}

export interface LayerView extends LayerRef {
  readonly config: JsonObject
  readonly disabledReason: string | null
}

/** What no configuration can override: nothing, there is no managed policy. */
export const requirements = (): null => null

/** Makes the answer from layers, lowest first. Pure. */
export function readConfig(layers: readonly Layer[], includeLayers: boolean): ConfigRead {
  const set = layers.filter(({ source }) => source.type !== 'thread')
  return {
    config: filled(merged(set)),
    origins: origins(set),
    layers: includeLayers ? set.toReversed().map(view) : null,
  }
}

const ref = ({ source, version }: Layer): LayerRef => ({ source, version })

const view = (layer: Layer): LayerView => ({
  ...ref(layer),
  config: layer.table,
  disabledReason: layer.disabledReason,
})

function origins(layers: readonly Layer[]): Readonly<Record<string, LayerRef>> {
  const alive = new Set(leafPaths(merged(layers)))
  const found: Record<string, LayerRef> = {}
  for (const layer of layers) {
    for (const path of leafPaths(layer.table)) if (path !== '' && alive.has(path)) found[path] = ref(layer)
  }
  return found
}

/** As in codex, what counts shows only keys that mean something; a layer shows all of them. */
const isKnown = (key: string): boolean =>
  Object.hasOwn(KEYS, key) || Object.hasOwn(DEFAULTS, key) || NULL_KEYS.includes(key)

function filled(table: JsonObject): JsonObject {
  const nulls = Object.fromEntries(NULL_KEYS.map(key => [key, null]))
  const known = Object.entries(table).filter(([key]) => isKnown(key))
  const all = merge({ ...nulls, ...DEFAULTS }, Object.fromEntries(known))
  const writable = valueAt(table, ['sandbox_workspace_write'])
  return {
    ...all,
    // A newer client does not know the word `on-failure`; here it has always meant the same.
    approval_policy: all.approval_policy === 'on-failure' ? 'on-request' : (all.approval_policy ?? null),
    sandbox_workspace_write: isTable(writable) ? merge(WORKSPACE_WRITE, writable) : null,
    model_providers: eachOver(PROVIDER, all.model_providers),
    mcp_servers: eachOver(MCP_SERVER, all.mcp_servers),
  }
}

function eachOver(defaults: JsonObject, tables: Json | undefined): JsonObject {
  if (!isTable(tables)) return {}
  return Object.fromEntries(
    Object.entries(tables).map(([id, table]) => [id, isTable(table) ? merge(defaults, table) : table]),
  )
}
