import { isObject, type Json, type JsonObject } from '../../base/json.ts'

/** Names that would reach an object's prototype; no configuration key may contain one. */
const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Nesting no real configuration has; deeper input is refused before anything walks it. */
const MAX_DEPTH = 64

/** The path of keys into a configuration. */
export type KeyPath = readonly string[]

/** Whether `name` may not be a key of a configuration. */
export const isUnsafeKey = (name: string): boolean => UNSAFE.has(name)

/** The value at `path`, own properties only; undefined when a step is missing or not a table. */
export function valueAt(table: JsonObject, path: KeyPath): Json | undefined {
  let here: unknown = table
  for (const key of path) {
    if (!isObject(here) || !Object.hasOwn(here, key)) return undefined
    here = here[key]
  }
  return here as Json
}

/** `high` laid over `low`: tables merge key by key, everything else replaces. */
export function merge(low: JsonObject, high: JsonObject): JsonObject {
  const out: Record<string, Json> = { ...low }
  for (const [key, value] of Object.entries(high)) {
    const below = Object.hasOwn(low, key) ? low[key] : undefined
    out[key] = isTable(below) && isTable(value) ? merge(below, value) : value
  }
  return out
}

/** A copy of `table` with `value` at `path`, tables made where missing; undefined when a step on the way is no table. */
export function withValue(table: JsonObject, path: KeyPath, value: Json): JsonObject | undefined {
  const [key, ...rest] = path
  if (key === undefined) return isTable(value) ? value : undefined
  if (rest.length === 0) return { ...table, [key]: value }
  const below = valueAt(table, [key]) ?? {}
  const inner = isTable(below) ? withValue(below, rest, value) : undefined
  return inner && { ...table, [key]: inner }
}

/** A copy of `table` without the value at `path`; the table itself when there is none. Emptied tables stay. */
export function without(table: JsonObject, path: KeyPath): JsonObject {
  if (valueAt(table, path) === undefined) return table
  const [key, ...rest] = path as [string, ...string[]]
  if (rest.length > 0) return { ...table, [key]: without(table[key] as JsonObject, rest) }
  const { [key]: _gone, ...kept } = table
  return kept
}

/** A table that holds nothing but `value` at `path`. */
export const nested = (path: KeyPath, value: Json): Json =>
  path.reduceRight<Json>((in_, key) => ({ [key]: in_ }), value)

/** Every leaf as its dotted path; list elements count by index, empty tables and lists have none. */
export function leafPaths(value: Json, prefix = ''): string[] {
  if (typeof value !== 'object' || value === null) return [prefix]
  return Object.entries(value).flatMap(([key, inner]) => leafPaths(inner, prefix ? `${prefix}.${key}` : key))
}

/** Whether two values are the same, key order aside; NaN equals itself. */
export function sameValue(a: Json | undefined, b: Json | undefined): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(key => Object.hasOwn(b, key) && sameValue((a as JsonObject)[key], (b as JsonObject)[key]))
}

export const isTable = (value: unknown): value is JsonObject => isObject(value)
export const asString = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null)
export const asNumber = (value: Json | undefined): number | null => (typeof value === 'number' ? value : null)

/** The strings of a list; nothing of what is no list. */
export const stringsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter(element => typeof element === 'string') : []

/** Why `value` may not enter a configuration (an unsafe key, too deep), or null. Nothing else may walk it before this. */
export function unsafeReason(value: unknown, depth = 0): string | null {
  if (typeof value !== 'object' || value === null) return null
  if (depth >= MAX_DEPTH) return `configuration is nested deeper than ${MAX_DEPTH} levels`
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && isUnsafeKey(key)) return `key \`${key}\` is not allowed`
    const reason = unsafeReason(inner, depth + 1)
    if (reason !== null) return reason
  }
  return null
}
