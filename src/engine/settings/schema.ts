import type { Json, JsonObject } from '../../base/json.ts'
import { isTable, type KeyPath } from './tree.ts'

/** What a configuration value must be. Tables ignore fields they do not know. */
export type Kind =
  | { readonly is: 'string' | 'path' | 'i64' | 'u64' | 'usize' }
  /** `auto` or a version number; it becomes part of the user agent that clients parse. */
  | { readonly is: 'version' }
  /** With `orTable`, a table is let through as well. */
  | { readonly is: 'boolean'; readonly orTable?: boolean }
  | { readonly is: 'variant'; readonly names: readonly string[]; readonly orTable?: boolean }
  | { readonly is: 'list'; readonly of: Kind }
  /** Free keys, one kind of value. With `flat`, a bad value is reported at the map, as codex does for features. */
  | { readonly is: 'map'; readonly of: Kind; readonly name?: string; readonly flat?: boolean }
  | { readonly is: 'table'; readonly name: string; readonly fields: Fields }

export type Fields = { readonly [key: string]: Kind }

/** The first value that is not what it must be, in the words of codex (serde): clients and people know them. */
export interface TypeFault {
  /** E.g. ``invalid type: integer `5`, expected a string``. */
  readonly message: string
  readonly path: KeyPath
}

/** A fault as codex writes it where there is no file to point into. */
export const faultText = (fault: TypeFault): string => `${fault.message}\nin \`${fault.path.join('.')}\`\n`

/** Checks a whole configuration against its known keys; null when all is well. */
export function checkTable(table: JsonObject, fields: Fields, path: KeyPath = []): TypeFault | null {
  for (const [key, value] of Object.entries(table)) {
    const kind = Object.hasOwn(fields, key) ? fields[key] : undefined
    const fault = kind ? check(value, kind, [...path, key]) : null
    if (fault) return fault
  }
  return null
}

function check(value: Json, kind: Kind, path: KeyPath): TypeFault | null {
  switch (kind.is) {
    case 'string':
    case 'path':
      return typeof value === 'string' ? null : wrongType(value, kind.is === 'path' ? 'path string' : 'a string', path)
    case 'boolean':
      if (typeof value === 'boolean' || (kind.orTable && isTable(value))) return null
      return wrongType(value, 'a boolean', path)
    case 'i64':
    case 'u64':
    case 'usize':
      return checkInteger(value, kind.is, path)
    case 'variant':
      return checkVariant(value, kind, path)
    case 'version':
      return checkVersion(value, path)
    case 'list':
      if (!Array.isArray(value)) return wrongType(value, 'a sequence', path)
      return first(value, element => check(element, kind.of, path))
    case 'map':
      return checkMap(value, kind, path)
    case 'table':
      return isTable(value) ? checkTable(value, kind.fields, path) : wrongType(value, `struct ${kind.name}`, path)
    default:
      return kind satisfies never
  }
}

function checkInteger(value: Json, type: 'i64' | 'u64' | 'usize', path: KeyPath): TypeFault | null {
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType(value, type, path)
  if (type === 'i64' || value >= 0) return null
  return { message: `invalid value: ${described(value)}, expected ${type}`, path }
}

function checkVariant(value: Json, kind: Kind & { is: 'variant' }, path: KeyPath): TypeFault | null {
  if (kind.orTable && isTable(value)) return null
  if (typeof value !== 'string') return { message: 'invalid type: unit variant, expected string only', path }
  if (kind.names.includes(value)) return null
  const names = kind.names.map(name => `\`${name}\``)
  const expected = names.length > 2 ? `one of ${names.join(', ')}` : names.join(' or ')
  return { message: `unknown variant \`${shortened(value)}\`, expected ${expected}`, path }
}

function checkVersion(value: Json, path: KeyPath): TypeFault | null {
  if (typeof value !== 'string') return wrongType(value, 'a string', path)
  if (/^(?:auto|[0-9][0-9A-Za-z.+-]{0,63})$/.test(value)) return null
  return { message: `invalid value: ${described(value)}, expected \`auto\` or a version such as \`0.142.5\``, path }
}

function checkMap(value: Json, kind: Kind & { is: 'map' }, path: KeyPath): TypeFault | null {
  if (!isTable(value)) return wrongType(value, kind.name ? `struct ${kind.name}` : 'a map', path)
  return first(Object.entries(value), ([key, inner]) => check(inner, kind.of, kind.flat ? path : [...path, key]))
}

function first<T>(values: readonly T[], fault: (value: T) => TypeFault | null): TypeFault | null {
  for (const value of values) {
    const found = fault(value)
    if (found) return found
  }
  return null
}

const wrongType = (value: Json, expected: string, path: KeyPath): TypeFault => ({
  message: `invalid type: ${described(value)}, expected ${expected}`,
  path,
})

function described(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'sequence'
  switch (typeof value) {
    case 'string':
      return `string ${JSON.stringify(shortened(value))}`
    case 'number':
      return Number.isInteger(value) ? `integer \`${value}\`` : `floating point \`${value}\``
    case 'boolean':
      return `boolean \`${value}\``
    default:
      return 'map'
  }
}

/** An error message is no place for a megabyte. */
const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text)
