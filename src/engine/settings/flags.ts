import type { Json, JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import { parseKeyPath } from './key-path.ts'
import { parseToml, TomlFaulty } from './toml.ts'
import { isTable, merge, unsafeReason, withValue } from './tree.ts'

/**
 * The table that `-c key=value` arguments add up to; a later one wins. Throws `configInvalid`, which a command line
 * shows and ends with, for an argument without `=` or with a malformed key.
 */
export function parseFlags(flags: readonly string[]): JsonObject {
  let table: JsonObject = {}
  for (const flag of flags) {
    const equals = equalsIndex(flag)
    if (equals === -1) throw new EngineError('configInvalid', `Invalid override (missing '='): ${flag}`)
    table = placed(table, flag.slice(0, equals).trim(), flagValue(flag.slice(equals + 1)))
  }
  return table
}

/**
 * The per-thread configuration of a request: a table whose top-level keys may be dotted paths. Null means not set.
 * Throws `configInvalid` for keys that reach a prototype and for absurd nesting; a key that is no path is kept as it
 * stands (and means nothing).
 */
export function parseThreadConfig(config: JsonObject): JsonObject {
  const reason = unsafeReason(config)
  if (reason !== null) throw new EngineError('configInvalid', reason)
  let table: JsonObject = {}
  for (const [key, value] of Object.entries(config)) {
    const set = withoutNulls(value)
    if (set === undefined) continue
    table = key.includes('.') && !malformed(key) ? placed(table, key, set) : merge(table, { [key]: set })
  }
  return table
}

/** `value` laid into `table` at a dotted key; what is in the way of it gives way. */
function placed(table: JsonObject, key: string, value: Json): JsonObject {
  const path = parseKeyPath(key)
  const single = withValue({}, path, value)
  return single ? merge(table, single) : table
}

/** The `=` that ends the key: one inside a quoted segment belongs to it. */
function equalsIndex(flag: string): number {
  const match = /^(?:[^"=]|"(?:[^"\\]|\\.)*")*=/.exec(flag)
  return match ? match[0].length - 1 : flag.indexOf('=')
}

/** A TOML value where it is one, else the text itself without quotes around it. */
function flagValue(text: string): Json {
  const raw = text.trim()
  const table = parseToml(`value = ${raw}`)
  if (!(table instanceof TomlFaulty) && Object.keys(table).length === 1 && table.value !== undefined) return table.value
  return raw.replace(/^["']+|["']+$/g, '')
}

function malformed(key: string): boolean {
  try {
    parseKeyPath(key)
    return false
  } catch (error) {
    if (/not allowed/.test((error as Error).message)) throw error
    return true
  }
}

function withoutNulls(value: Json): Json | undefined {
  if (value === null) return undefined
  if (!isTable(value)) return value
  const kept = Object.entries(value).map(([key, inner]) => [key, withoutNulls(inner)] as const)
  return Object.fromEntries(kept.filter((entry): entry is [string, Json] => entry[1] !== undefined))
}
