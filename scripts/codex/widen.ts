import type {
  Dict,
  Either,
  List,
  Option,
  Shape,
  Shapes,
  Struct,
  Tagged,
  Variants,
} from '../../src/protocol/codex/shape.ts'

/**
 * Shapes of what we receive: a value that fits either pin fits the result. Where the pins differ the first one's order and
 * names lead, since our texts speak for it; a field that only one of them insists on may be absent.
 */
export function widenAll(first: Shapes, second: Shapes): Shapes {
  return mergeTables(first, second, widen)
}

/** Keys of the first table in its order, then those that only the second has; what both have is merged. */
export function mergeTables<T>(
  first: { readonly [name: string]: T },
  second: { readonly [name: string]: T },
  merge: (a: T, b: T) => T,
): { readonly [name: string]: T } {
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])]
  return Object.fromEntries(
    names.map(name => {
      const [a, b] = [first[name], second[name]]
      return [name, a === undefined ? (b as T) : b === undefined ? a : merge(a, b)]
    }),
  )
}

/** Whether two values hold the same, whatever the order of their keys. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a, ordered) === JSON.stringify(b, ordered)
}

function ordered(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

export function isOption(shape: Shape): shape is Option {
  return typeof shape === 'object' && 'option' in shape
}

export function isList(shape: Shape): shape is List {
  return typeof shape === 'object' && 'list' in shape
}

export function isDict(shape: Shape): shape is Dict {
  return typeof shape === 'object' && 'dict' in shape
}

export function isStruct(shape: Shape): shape is Struct {
  return typeof shape === 'object' && 'struct' in shape
}

export function isTagged(shape: Shape): shape is Tagged {
  return typeof shape === 'object' && 'tagged' in shape
}

export function isVariants(shape: Shape): shape is Variants {
  return typeof shape === 'object' && 'variants' in shape && !('tagged' in shape)
}

export function isEither(shape: Shape): shape is Either {
  return typeof shape === 'object' && 'either' in shape
}

/** The shape without the permission to be null. */
export function bare(shape: Shape): Shape {
  return isOption(shape) ? shape.option : shape
}

function widen(a: Shape, b: Shape): Shape {
  if (isSame(a, b)) return a
  if (a === 'any' || b === 'any') return 'any'
  if (isOption(a) || isOption(b)) return { option: widen(bare(a), bare(b)) }
  if (isStruct(a) && isStruct(b)) return widenStruct(a, b)
  if (isTagged(a) && isTagged(b) && a.tag === b.tag)
    return { ...a, variants: mergeTables(a.variants, b.variants, widen) }
  if (isVariants(a) && isVariants(b)) return { ...a, variants: mergeTables(a.variants, b.variants, widenVariant) }
  if (isList(a) && isList(b)) return { list: widen(a.list, b.list) }
  if (isDict(a) && isDict(b)) return { dict: widen(a.dict, b.dict) }
  const all = [...membersOf(a), ...membersOf(b)]
  return { either: all.filter((one, index) => all.findIndex(other => isSame(one, other)) === index), name: nameOf(a) }
}

function widenStruct(a: Struct, b: Struct): Struct {
  const { keys: _, ...open } = a
  return {
    ...(a.keys === b.keys ? a : open),
    fields: mergeTables(a.fields, b.fields, widen),
    required: a.required.filter(field => b.required.includes(field)),
    ...(Object.keys(b.fields).every(field => field in a.fields) ? {} : { known: Object.keys(a.fields).length }),
  }
}

function widenVariant(a: Shape | null, b: Shape | null): Shape | null {
  return a === null || b === null ? (a ?? b) : widen(a, b)
}

function membersOf(shape: Shape): readonly Shape[] {
  return isEither(shape) ? shape.either : [shape]
}

function nameOf(shape: Shape): string | null {
  return isEither(shape) ? shape.name : null
}
