import { isObject } from '../../base/json.ts'
import type { Dict, Either, List, Option, Primitive, Shape, Shapes, Struct, Tagged, Variants } from './shape.ts'

/** Named shapes that references point to. */
type Names = Shapes

/**
 * Why a value does not fit a shape, in the words in which codex (serde) says it; null when it fits. The first fault in the
 * order of the input is told, and what is missing only when everything present fits. Unknown keys are no fault.
 */
export function faultOf(shape: Shape, value: unknown, names: Names): string | null {
  if (typeof shape === 'string')
    return shape.startsWith('#') ? faultOfNamed(shape.slice(1), value, names) : faultOfPlain(shape as Primitive, value)
  if ('option' in shape) return faultOfOption(shape, value, names)
  if ('list' in shape) return faultOfList(shape, value, names)
  if ('dict' in shape) return faultOfDict(shape, value, names)
  if ('struct' in shape) return faultOfStruct(shape, value, names)
  if ('tagged' in shape) return faultOfTagged(shape, value, names)
  if ('either' in shape) return faultOfEither(shape, value, names)
  return faultOfVariants(shape, value, names)
}

function faultOfNamed(name: string, value: unknown, names: Names): string | null {
  const shape = names[name]
  if (shape === undefined) throw new Error(`the shape ${name} is not defined`)
  return faultOf(shape, value, names)
}

function faultOfOption({ option }: Option, value: unknown, names: Names): string | null {
  return value === null ? null : faultOf(option, value, names)
}

function faultOfList({ list }: List, value: unknown, names: Names): string | null {
  if (!Array.isArray(value)) return wrongType(value, 'a sequence')
  return first(value, element => faultOf(list, element, names))
}

function faultOfDict({ dict }: Dict, value: unknown, names: Names): string | null {
  if (!isObject(value)) return wrongType(value, 'a map')
  return first(Object.values(value), element => faultOf(dict, element, names))
}

function faultOfStruct(shape: Struct, value: unknown, names: Names): string | null {
  if (Array.isArray(value)) return faultOfTuple(shape, value, names)
  if (!isObject(value)) return wrongType(value, expectedStruct(shape))
  return (
    first(Object.entries(value), ([key, part]) => faultOfField(shape, { key, part }, names)) ??
    missingField(shape, value)
  )
}

function faultOfField(
  { fields, keys }: Struct,
  { key, part }: { key: string; part: unknown },
  names: Names,
): string | null {
  // A key such as `constructor` must not find what every object inherits.
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined
  if (field !== undefined) return faultOf(field, part, names)
  return keys === 'closed' ? unknownField(key, Object.keys(fields)) : null
}

function unknownField(key: string, known: readonly string[]): string {
  return `unknown field \`${key}\`, ${known.length === 0 ? 'there are no fields' : `expected ${oneOf(known)}`}`
}

function missingField({ required }: Struct, value: object): string | null {
  const missing = required.find(field => !Object.hasOwn(value, field))
  return missing === undefined ? null : `missing field \`${missing}\``
}

/** Codex would take an array for the fields in their order. We do not, and say what it says of a wrong one. */
function faultOfTuple(shape: Struct, values: readonly unknown[], names: Names): string {
  const fields = Object.values(shape.fields).slice(0, shape.known)
  const fault = first(values.slice(0, fields.length), (value, index) => faultOf(fields[index] ?? 'any', value, names))
  if (fault !== null) return fault
  if (values.length > fields.length)
    return `invalid length ${values.length}, expected ${count(fields.length)} in sequence`
  if (values.length === fields.length) return wrongType(values, expectedStruct(shape))
  return `invalid length ${values.length}, expected ${fullName(shape)} with ${count(fields.length)}`
}

function faultOfTagged(shape: Tagged, value: unknown, names: Names): string | null {
  const { tag, variants } = shape
  if (Array.isArray(value) && value.length === 0) return `missing field \`${tag}\``
  if (!isObject(value)) return wrongType(value, `internally tagged enum ${shape.tagged}`)
  if (!Object.hasOwn(value, tag)) {
    const meant = shape.untagged === undefined ? undefined : variants[shape.untagged]
    return meant === undefined ? `missing field \`${tag}\`` : faultOf(meant, value, names)
  }
  const { [tag]: name, ...rest } = value
  if (typeof name !== 'string') return wrongTag(name, shape.known)
  const variant = Object.hasOwn(variants, name) ? variants[name] : undefined
  if (variant !== undefined) return faultOf(variant, rest, names)
  return takesOthers(variants) ? null : unknownVariant(name, shape)
}

function wrongTag(value: unknown, count: number): string {
  if (Number.isInteger(value) && Number(value) >= 0)
    return `invalid value: integer \`${value}\`, expected variant index 0 <= i < ${count}`
  return wrongType(value, 'variant identifier')
}

/** A variant `other` without fields is where serde puts the names it does not know. */
function takesOthers({ other }: Shapes): boolean {
  return typeof other === 'object' && 'struct' in other && Object.keys(other.fields).length === 0
}

function faultOfVariants(shape: Variants, value: unknown, names: Names): string | null {
  if (typeof value === 'string') return faultOfName(shape, value)
  if (!isObject(value)) return wrongType(value, 'string or map')
  const [name, ...others] = Object.keys(value)
  if (name === undefined || others.length > 0) return 'invalid value: map, expected map with a single key'
  const variant = Object.hasOwn(shape.variants, name) ? shape.variants[name] : undefined
  if (variant === undefined) return unknownVariant(name, shape)
  const content = value[name]
  if (variant === null) return wrongType(content, 'unit')
  const isWhole = typeof variant === 'string' || isObject(content) || Array.isArray(content)
  return isWhole ? faultOf(variant, content, names) : wrongType(content, 'struct variant')
}

function faultOfName(shape: Variants, name: string): string | null {
  if (!Object.hasOwn(shape.variants, name)) return unknownVariant(name, shape)
  const variant = shape.variants[name]
  if (variant === null) return null
  return `invalid type: unit variant, expected ${typeof variant === 'string' ? 'newtype' : 'struct'} variant`
}

function faultOfEither({ either, name }: Either, value: unknown, names: Names): string | null {
  const faults = either.map(member => faultOf(member, value, names))
  if (faults.includes(null)) return null
  return name === null ? (faults[0] ?? null) : `data did not match any variant of untagged enum ${name}`
}

function faultOfPlain(shape: Primitive, value: unknown): string | null {
  switch (shape) {
    case 'any':
      return null
    case 'null':
      return value === null ? null : wrongType(value, 'unit')
    case 'boolean':
      return typeof value === 'boolean' ? null : wrongType(value, 'a boolean')
    case 'string':
      return typeof value === 'string' ? null : wrongType(value, 'a string')
    case 'file':
      return typeof value === 'string' ? null : wrongType(value, 'path string')
    case 'path':
      return faultOfPath(value)
    case 'f64':
      return typeof value === 'number' ? null : wrongType(value, 'f64')
    default:
      return faultOfInteger(shape, value)
  }
}

function faultOfPath(value: unknown): string | null {
  if (typeof value !== 'string') return wrongType(value, 'path string')
  return value.startsWith('/') ? null : 'AbsolutePathBuf deserialized without a base path'
}

/** First value below and first value above the range, both exact as numbers. */
const BOUNDS = {
  u8: [-1, 2 ** 8],
  u16: [-1, 2 ** 16],
  u32: [-1, 2 ** 32],
  u64: [-1, 2 ** 64],
  usize: [-1, 2 ** 64],
  i32: [-(2 ** 31) - 1, 2 ** 31],
  // The number before -2^63 is far away, so the lower end is open there by a little.
  i64: [-(2 ** 63) - 2 ** 11, 2 ** 63],
} as const

function faultOfInteger(type: keyof typeof BOUNDS, value: unknown): string | null {
  if (!Number.isInteger(value)) return wrongType(value, type)
  const [below, above] = BOUNDS[type]
  const number = value as number
  return number > below && number < above ? null : `invalid value: integer \`${BigInt(number)}\`, expected ${type}`
}

function wrongType(value: unknown, expected: string): string {
  return `invalid type: ${nameOfValue(value)}, expected ${expected}`
}

function nameOfValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `string ${debugText(value)}`
    case 'number':
      return Number.isInteger(value) ? `integer \`${BigInt(value)}\`` : `floating point \`${value}\``
    case 'boolean':
      return `boolean \`${value}\``
    default:
      return Array.isArray(value) ? 'sequence' : isObject(value) ? 'map' : 'null'
  }
}

/** A string as Rust's `{:?}` prints it. */
function debugText(text: string): string {
  const named: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\0', '"': '\\"', '\\': '\\\\' }
  const escaped = text.replace(
    /["\\]|\p{C}|[\u2028\u2029]/gu,
    c => named[c] ?? `\\u{${c.codePointAt(0)?.toString(16)}}`,
  )
  return `"${escaped}"`
}

function unknownVariant(name: string, { variants, known }: Tagged | Variants): string {
  return `unknown variant \`${name}\`, expected ${oneOf(Object.keys(variants).slice(0, known))}`
}

function oneOf(names: readonly string[]): string {
  const quoted = names.map(name => `\`${name}\``)
  return quoted.length > 2 ? `one of ${quoted.join(', ')}` : quoted.join(' or ')
}

function fullName({ struct }: Struct): string {
  return struct.includes('::') ? `struct variant ${struct}` : `struct ${struct}`
}

/** Where a type is wrong a variant's struct goes without its name. */
function expectedStruct(shape: Struct): string {
  return shape.struct.includes('::') ? 'struct variant' : fullName(shape)
}

function count(elements: number): string {
  return elements === 1 ? '1 element' : `${elements} elements`
}

function first<T>(values: readonly T[], fault: (value: T, index: number) => string | null): string | null {
  for (const [index, value] of values.entries()) {
    const found = fault(value, index)
    if (found !== null) return found
  }
  return null
}
