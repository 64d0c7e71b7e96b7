import type { Shape, Shapes, Struct, Variants } from '../../src/protocol/codex/shape.ts'
import type { Declared, Fields } from './declarations.ts'
import type { Pin } from './pin.ts'
import { nameOfRef, type Schema, type SchemaNode } from './schema.ts'

/**
 * Which fields count as required: of what we receive those that codex insists on (the schema's), of what we send those that
 * codex always writes, nulls included (the TypeScript export's).
 */
export type Use = 'received' | 'sent'

/** Where in a bundle a schema stands: the name a text gives it, and what the TypeScript export says of it. */
interface Place {
  readonly name: string
  readonly declared: Declared | undefined
  readonly use: Use
}

const INTEGERS = {
  int32: 'i32',
  int64: 'i64',
  uint: 'usize',
  uint8: 'u8',
  uint16: 'u16',
  uint32: 'u32',
  uint64: 'u64',
} as const

/** All named shapes of a pin, as one direction needs them. Throws on a schema it does not understand. */
export function readShapes({ experimental, declarations }: Pin, use: Use): Shapes {
  const entries = Object.entries(experimental.definitions).map(([name, schema]) => {
    // The schema says string, the program insists on an absolute one.
    if (name === 'AbsolutePathBuf') return [name, 'path'] as const
    return [name, read(schema, { name, declared: declarations[name], use })] as const
  })
  return Object.fromEntries(entries)
}

function read(schema: Schema, place: Place): Shape {
  if (schema === true || Object.keys(schema).every(key => key === 'default')) return 'any'
  const [only] = schema.allOf ?? []
  if (only !== undefined) return read(only, place)
  const ref = nameOfRef(schema)
  if (ref !== undefined) return `#${ref}`
  const types = [schema.type ?? []].flat()
  if (types.length > 1 && types.includes('null'))
    return { option: read({ ...schema, type: types.filter(type => type !== 'null') }, place) }
  const members = schema.anyOf ?? schema.oneOf
  if (members) return readUnion(schema, members, place)
  return readPlain(schema, types[0], place)
}

function readPlain(schema: SchemaNode, type: string | undefined, place: Place): Shape {
  switch (type) {
    case 'object':
      return readObject(schema, place)
    case 'array':
      return { list: read(schema.items ?? true, inside(place)) }
    case 'string':
      return schema.enum ? readVariants([schema], place) : 'string'
    case 'integer':
      return INTEGERS[(schema.format ?? 'int64') as keyof typeof INTEGERS]
    case 'number':
      return 'f64'
    case 'boolean':
    case 'null':
      return type
    default:
      throw new Error(`${place.name}: type ${type} is not understood`)
  }
}

function readObject(schema: SchemaNode, place: Place): Shape {
  if (schema.properties) return readStruct(schema, place, Array.isArray(place.declared) ? place.declared : undefined)
  const values = schema.additionalProperties
  if (values) return { dict: read(values, inside(place)) }
  return readStruct(schema, place, undefined)
}

function readStruct(schema: SchemaNode, place: Place, declared: Fields | undefined): Struct {
  const order = declared?.map(field => field.replace('?', '')) ?? []
  const names = inOrder(Object.keys(schema.properties ?? {}), order)
  const always = (name: string) =>
    schema.required?.includes(name) || (place.use === 'sent' && declared?.includes(name)) || false
  const fields = names.map(name => [name, read(schema.properties?.[name] ?? true, inside(place))] as const)
  return {
    struct: place.name,
    fields: Object.fromEntries(fields),
    required: names.filter(always),
    ...(schema.additionalProperties === undefined ? {} : { keys: schema.additionalProperties ? 'open' : 'closed' }),
  }
}

function readUnion(schema: SchemaNode, members: readonly Schema[], place: Place): Shape {
  const rest = members.filter(member => member !== true && member.type !== 'null')
  const [first] = rest
  if (rest.length < members.length && rest.length === 1 && first !== undefined) return { option: read(first, place) }
  const nodes = rest.map(member => withBase(member as SchemaNode, schema)).filter(node => !isCatchAll(node))
  const tag = tagOf(nodes)
  if (tag !== undefined) return readTagged(nodes, tag, place)
  if (nodes.every(node => node.enum || isKeyed(node))) return readVariants(nodes, place)
  return { either: nodes.map(node => read(node, inside(place))), name: place.name }
}

function readTagged(nodes: readonly SchemaNode[], tag: string, place: Place): Shape {
  const variants = nodes.map(node => [literal(node.properties?.[tag]) ?? '', node] as const)
  const order = variantOrder(place.declared)
  const names = inOrder(
    variants.map(([name]) => name),
    order,
  )
  const table = Object.fromEntries(variants)
  const shapes = names.map(name => [name, readTaggedVariant(table[name] ?? {}, name, { tag, place })] as const)
  return { tagged: place.name, tag, variants: Object.fromEntries(shapes), known: names.length }
}

function readTaggedVariant(node: SchemaNode, name: string, { tag, place }: { tag: string; place: Place }): Shape {
  const { [tag]: _, ...properties } = node.properties ?? {}
  const bare = { ...node, properties, required: node.required?.filter(field => field !== tag) ?? [] }
  const declared = fieldsOfVariant(place.declared, name)
  const own = { ...inside(place), name: `${place.name}::${capital(name)}` }
  // A variant with alternatives of its own (`url` or `fileId`) is one struct for each of them.
  const forms = node.anyOf?.map(form => withBase(form as SchemaNode, bare))
  if (!forms) return readStruct(bare, own, declared)
  return { either: forms.map(form => readStruct(form, own, declared)), name: place.name }
}

function readVariants(nodes: readonly SchemaNode[], place: Place): Variants {
  const shapes: Record<string, Shape | null> = {}
  for (const node of nodes) {
    for (const name of node.enum ?? []) shapes[name] = null
    for (const [name, schema] of Object.entries(node.properties ?? {})) shapes[name] = readKeyed(schema, name, place)
  }
  const names = inOrder(Object.keys(shapes), variantOrder(place.declared))
  return { variants: Object.fromEntries(names.map(name => [name, shapes[name] ?? null])), known: names.length }
}

function readKeyed(schema: Schema, name: string, place: Place): Shape {
  const declared = fieldsOfVariant(place.declared, name) ?? undefined
  return read(schema, { name: `${place.name}::${capital(name)}`, declared, use: place.use })
}

/** A member of a union with what the union says of all its members. */
function withBase(member: SchemaNode, base: SchemaNode): SchemaNode {
  if (!base.properties) return member
  const required = [...(base.required ?? []), ...(member.required ?? [])]
  return { ...member, properties: { ...base.properties, ...member.properties }, required }
}

/** The newer pin lets unknown error kinds through as any string or object; what we send is one that is named. */
function isCatchAll({ type, properties }: SchemaNode): boolean {
  return Array.isArray(type) && type.includes('object') && !properties
}

function isKeyed({ properties, required, additionalProperties }: SchemaNode): boolean {
  return additionalProperties === false && required?.length === 1 && Object.keys(properties ?? {}).length === 1
}

function tagOf(nodes: readonly SchemaNode[]): string | undefined {
  const candidates = Object.keys(nodes[0]?.properties ?? {})
  return candidates.find(field => nodes.every(node => literal(node.properties?.[field]) !== undefined))
}

function literal(schema: Schema | undefined): string | undefined {
  return typeof schema === 'object' && schema.enum?.length === 1 ? schema.enum[0] : undefined
}

function variantOrder(declared: Declared | undefined): readonly string[] {
  return declared && !isFields(declared) ? Object.keys(declared) : []
}

function fieldsOfVariant(declared: Declared | undefined, name: string): Fields | undefined {
  return declared && !isFields(declared) ? (declared[name] ?? undefined) : undefined
}

function isFields(declared: Declared): declared is Fields {
  return Array.isArray(declared)
}

function inside({ name, use }: Place): Place {
  return { name, declared: undefined, use }
}

/** `names` in the given order; names the order does not know come last, as they stood. */
function inOrder(names: readonly string[], order: readonly string[]): string[] {
  return [...new Set([...order.filter(name => names.includes(name)), ...names])]
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
