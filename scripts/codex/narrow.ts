import type { Either, Shape, Shapes, Struct, Tagged, Variants } from '../../src/protocol/codex/shape.ts'
import { bare, isDict, isEither, isList, isOption, isSame, isStruct, isTagged, isVariants } from './widen.ts'

/** The named shapes of both pins, to follow references with. */
interface Pair {
  readonly first: Shapes
  readonly second: Shapes
}

/**
 * Shapes of what we send: a value of the result fits both pins. It has the fields of both (extra keys are ignored) and only
 * the variants both know. A name that has no such value is left out.
 */
export function narrowAll(first: Shapes, second: Shapes): Shapes {
  const pair = { first, second }
  const names = [...new Set([...Object.keys(first), ...Object.keys(second)])]
  const entries = names.map(name => {
    const [a, b] = [first[name], second[name]]
    return [name, a !== undefined && b !== undefined ? narrow(a, b, pair) : (a ?? b)] as const
  })
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, Shape] => entry[1] !== undefined))
}

/** The values that fit both; undefined where there are none. */
function narrow(a: Shape, b: Shape, pair: Pair): Shape | undefined {
  if (isSame(a, b) || b === 'any') return a
  if (a === 'any') return b
  if (isOption(a) || isOption(b)) return narrowOption(a, b, pair)
  if (isEither(a)) return chosen(a, b, pair)
  if (isEither(b)) return chosen(b, a, pair)
  if (isReference(a) || isReference(b)) return narrow(follow(a, pair.first), follow(b, pair.second), pair)
  if (typeof a === 'string' || typeof b === 'string') return narrowPlain(a, b)
  if (isStruct(a) && isStruct(b)) return narrowStruct(a, b, pair)
  if (isStruct(a) && isTagged(b)) return narrowTagged(asTagged(a, b, pair.first), b, pair)
  if (isTagged(a) && isTagged(b)) return narrowTagged(a, b, pair)
  if (isVariants(a) && isVariants(b)) return narrowVariants(a, b, pair)
  if (isList(a) && isList(b)) return wrapped(narrow(a.list, b.list, pair), list => ({ list }))
  if (isDict(a) && isDict(b)) return wrapped(narrow(a.dict, b.dict, pair), dict => ({ dict }))
  return undefined
}

function narrowOption(a: Shape, b: Shape, pair: Pair): Shape | undefined {
  const inner = narrow(bare(a), bare(b), pair)
  return isOption(a) && isOption(b) ? wrapped(inner, option => ({ option })) : inner
}

/** Texts, paths and enums are all strings, and all integers are numbers: the stricter of two that overlap. */
function narrowPlain(a: Shape, b: Shape): Shape | undefined {
  const texts: readonly Shape[] = ['string', 'path']
  const isText = (shape: Shape) => texts.includes(shape) || isVariants(shape)
  if (isText(a) && isText(b)) return a === 'string' || isVariants(b) ? b : a
  const isNumber = (shape: Shape) => typeof shape === 'string' && /^([iuf]\d|usize)/.test(shape)
  return isNumber(a) && isNumber(b) ? a : undefined
}

function narrowStruct(a: Struct, b: Struct, pair: Pair): Struct | undefined {
  const fields: Record<string, Shape> = {}
  const required = [...new Set([...a.required, ...b.required])]
  for (const name of new Set([...Object.keys(a.fields), ...Object.keys(b.fields)])) {
    const [own, other] = [a.fields[name], b.fields[name]]
    const field = own !== undefined && other !== undefined ? narrow(own, other, pair) : (own ?? other)
    if (field !== undefined) fields[name] = field
    else if (required.includes(name)) return undefined
  }
  return { ...a, fields, required }
}

/** The first member with values in common with `other`; of structs one whose own marks the other struct has too. */
function chosen({ either }: Either, other: Shape, pair: Pair): Shape | undefined {
  const structs = either.filter(isStruct)
  const marks = ({ required }: Struct) => required.filter(field => !structs.every(one => one.required.includes(field)))
  const isNear = (member: Shape) =>
    !isStruct(member) || !isStruct(other) || marks(member).every(field => field in other.fields)
  return either
    .filter(isNear)
    .map(member => narrow(member, other, pair))
    .find(shape => shape !== undefined)
}

function narrowTagged(a: Tagged, b: Tagged, pair: Pair): Tagged | undefined {
  const variants: Record<string, Shape> = {}
  for (const [name, own] of Object.entries(a.variants)) {
    const other = b.variants[name]
    const variant = other === undefined ? undefined : narrow(own, other, pair)
    if (variant !== undefined) variants[name] = variant
  }
  const known = Object.keys(variants).length
  return known === 0 || a.tag !== b.tag ? undefined : { ...a, variants, known }
}

/** A struct seen as the union that the other pin made of it: its tag field lists the variants it knows. */
function asTagged(struct: Struct, like: Tagged, names: Shapes): Tagged {
  const { [like.tag]: tag, ...fields } = struct.fields
  const tags = tag === undefined ? tag : follow(tag, names)
  const known = tags !== undefined && isVariants(tags) ? Object.keys(tags.variants) : []
  const rest = { ...struct, fields, required: struct.required.filter(field => field !== like.tag) }
  return { ...like, variants: Object.fromEntries(known.map(name => [name, rest])), known: known.length }
}

function narrowVariants(a: Variants, b: Variants, pair: Pair): Variants | undefined {
  const variants: Record<string, Shape | null> = {}
  for (const [name, own] of Object.entries(a.variants)) {
    const other = b.variants[name]
    if (own === null && other === null) variants[name] = null
    const both = own && other ? narrow(own, other, pair) : undefined
    if (both !== undefined) variants[name] = both
  }
  const known = Object.keys(variants).length
  return known === 0 ? undefined : { variants, known }
}

function isReference(shape: Shape): shape is `#${string}` {
  return typeof shape === 'string' && shape.startsWith('#')
}

function follow(shape: Shape, names: Shapes): Shape {
  if (!isReference(shape)) return shape
  const target = names[shape.slice(1)]
  if (target === undefined) throw new Error(`${shape} is not defined`)
  return follow(target, names)
}

function wrapped(shape: Shape | undefined, wrap: (shape: Shape) => Shape): Shape | undefined {
  return shape === undefined ? undefined : wrap(shape)
}
