import type { JsonObject } from '../../base/json.ts'
import { merge } from './tree.ts'

/** Where a part of the configuration comes from. */
export type LayerSource =
  /** The home's config.toml, or the file of the profile chosen on the command line. */
  | { readonly type: 'user'; readonly file: string; readonly profile: string | null }
  /** `folder` is the project's `.skein` folder. */
  | { readonly type: 'project'; readonly folder: string }
  /** `-c key=value` of the command line. */
  | { readonly type: 'flags' }
  /** The `config` of one thread's start or resume. */
  | { readonly type: 'thread' }

/** One part of the configuration; a later layer of a list wins over an earlier one. */
export interface Layer {
  readonly source: LayerSource
  /** Hash of its content. */
  readonly version: string
  /** Empty while it is disabled. */
  readonly table: JsonObject
  /** Why nothing of it counts, in words for a person; null when it counts. */
  readonly disabledReason: string | null
  /** What a person should know about it, e.g. which keys were ignored. */
  readonly notice: string | null
}

/** What the layers add up to. */
export const merged = (layers: readonly Layer[]): JsonObject =>
  layers.reduce<JsonObject>((low, layer) => merge(low, layer.table), {})

/** A layer that counts and has nothing to say. */
export const layer = (source: LayerSource, version: string, table: JsonObject): Layer => ({
  source,
  version,
  table,
  disabledReason: null,
  notice: null,
})
