import type { ConfigWritten } from '../engine/settings/edits.ts'
import type { LayerSource } from '../engine/settings/layers.ts'
import type { ConfigRead, LayerView } from '../engine/settings/read.ts'
import type {
  ConfigLayer,
  ConfigLayerSource,
  ConfigReadResponse,
  ConfigWriteResponse,
} from '../protocol/codex/types.gen.ts'

/** Where a setting comes from, in codex's words. */
function toSource(source: LayerSource): ConfigLayerSource {
  switch (source.type) {
    case 'user':
      return { type: 'user', file: source.file, profile: source.profile }
    case 'project':
      return { type: 'project', dotCodexFolder: source.folder }
    case 'flags':
    case 'thread':
      return { type: 'sessionFlags' }
    default:
      return source satisfies never
  }
}

export function toConfigRead(read: ConfigRead): ConfigReadResponse {
  const origins = Object.entries(read.origins).map(([path, ref]) => [
    path,
    { name: toSource(ref.source), version: ref.version },
  ])
  return {
    // The keys are codex's own; what a client may rely on is filled in by the reader.
    config: read.config as unknown as ConfigReadResponse['config'],
    origins: Object.fromEntries(origins),
    // Codex leaves out what was not asked for, here and in a layer.
    ...(read.layers ? { layers: read.layers.map(toLayer) } : {}),
  }
}

function toLayer({ source, version, config, disabledReason }: LayerView): ConfigLayer {
  const layer = { name: toSource(source), version, config }
  return disabledReason === null ? layer : { ...layer, disabledReason }
}

export function toConfigWrite({ status, version, filePath, overriddenMetadata }: ConfigWritten): ConfigWriteResponse {
  return {
    status,
    version,
    filePath,
    overriddenMetadata: overriddenMetadata && {
      message: overriddenMetadata.message,
      overridingLayer: {
        name: toSource(overriddenMetadata.layer.source),
        version: overriddenMetadata.layer.version,
      },
      effectiveValue: overriddenMetadata.effectiveValue,
    },
  }
}
