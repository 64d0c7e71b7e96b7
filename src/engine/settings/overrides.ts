import { join } from 'node:path'
import type { JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import { absolutePaths } from './config.ts'
import { legacyProfile, versionOf } from './config-file.ts'
import { parseFlags, parseThreadConfig } from './flags.ts'
import { KEYS } from './keys.ts'
import { type Layer, layer } from './layers.ts'
import { checkTable, faultText } from './schema.ts'

/** The layer of the command line's `-c` arguments; null without any. Throws `configInvalid`. */
export function flagLayer(flags: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Layer | null {
  if (flags.length === 0) return null
  const table = checked(parseFlags(flags))
  return layer({ type: 'flags' }, versionOf(JSON.stringify(table)), absolutePaths(table, cwd, env))
}

/** The layer of one thread's own configuration. Throws `configInvalid`. */
export function threadLayer(overrides: JsonObject, cwd: string, env: NodeJS.ProcessEnv): Layer {
  const table = checked(parseThreadConfig(overrides))
  return layer({ type: 'thread' }, versionOf(JSON.stringify(table)), absolutePaths(table, cwd, env))
}

/** Refuses, before the server starts, what the environment sets and no configuration could. Throws `configInvalid`. */
export function checkEnvironment({ SKEIN_CODEX_VERSION: version }: NodeJS.ProcessEnv): void {
  if (version) checked({ codex_version: version })
}

/** The file of a profile. Throws `configInvalid` for a name that could be anything but a file of the home. */
export function profilePath(home: string, profile: string | null): string | null {
  if (profile === null) return null
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(profile)) return join(home, `${profile}.config.toml`)
  throw new EngineError(
    'configInvalid',
    `a profile name holds only letters, digits, \`_\`, \`-\` and \`.\`: ${profile}`,
  )
}

function checked(table: JsonObject): JsonObject {
  const fault = checkTable(table, KEYS)
  if (fault) throw new EngineError('configInvalid', faultText(fault))
  const legacy = legacyProfile(table)
  if (legacy !== null) throw new EngineError('configInvalid', legacy)
  return table
}
