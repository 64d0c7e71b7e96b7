import ts from 'typescript'

/** Fields of one struct in declaration order; a trailing `?` marks one that may be absent. */
export type Fields = readonly string[]

/** What the TypeScript export says of one type: a struct's fields, or a union's variants (null where one has no fields of its own). */
export type Declared = Fields | { readonly [variant: string]: Fields | null }

/** Every struct and union of an export, by name. */
export type Declarations = { readonly [type: string]: Declared }

/** One way a type can look: a plain string, or an object whose literal fields say which variant it is. */
type Alternative = string | Look
interface Look {
  readonly fields: Fields
  readonly literals: { readonly [field: string]: string }
  /** Fields of an object written inside a field, as in `{ granular: { ... } }`. */
  readonly inline: { readonly [field: string]: Fields }
}
type Aliases = ReadonlyMap<string, ts.TypeNode>

const EMPTY: Look = { fields: [], literals: {}, inline: {} }

/**
 * Reads what the JSON Schema does not tell from an export made by `generate-ts`: which fields are always written, and the
 * order of fields and variants. `sources` are the texts of its files; of two types with one name the later wins.
 */
export function readDeclarations(sources: readonly string[]): Declarations {
  const aliases = new Map(sources.flatMap(aliasesOf))
  const entries = [...aliases].map(([name, node]) => [name, declared(alternatives(node, aliases))] as const)
  const known = entries.filter((entry): entry is readonly [string, Declared] => entry[1] !== null)
  return Object.fromEntries(known.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function aliasesOf(source: string): [string, ts.TypeNode][] {
  const file = ts.createSourceFile('export.ts', source, ts.ScriptTarget.Latest)
  return file.statements.filter(ts.isTypeAliasDeclaration).map(alias => [alias.name.text, alias.type])
}

function alternatives(node: ts.TypeNode, aliases: Aliases): readonly Alternative[] {
  if (ts.isParenthesizedTypeNode(node)) return alternatives(node.type, aliases)
  if (ts.isUnionTypeNode(node)) return node.types.flatMap(member => alternatives(member, aliases))
  if (ts.isIntersectionTypeNode(node)) return node.types.map(part => partOf(part, aliases)).reduce(product)
  if (ts.isTypeLiteralNode(node)) return [look(node)]
  if (ts.isLiteralTypeNode(node) && ts.isStringLiteral(node.literal)) return [node.literal.text]
  return isEmptyStruct(node) ? [EMPTY] : []
}

/** A part of an intersection; unlike elsewhere a name is followed here, because its fields become the type's own. */
function partOf(node: ts.TypeNode, aliases: Aliases): readonly Alternative[] {
  const target = ts.isTypeReferenceNode(node) ? aliases.get(nameOf(node.typeName)) : undefined
  const found = alternatives(target ?? node, aliases)
  return found.length === 0 ? [EMPTY] : found
}

function product(left: readonly Alternative[], right: readonly Alternative[]): Alternative[] {
  return left.flatMap(a => right.map(b => join(a, b)))
}

function join(a: Alternative, b: Alternative): Look {
  if (typeof a === 'string' || typeof b === 'string') throw new Error('an intersection with a string is not understood')
  return {
    fields: [...a.fields, ...b.fields],
    literals: { ...a.literals, ...b.literals },
    inline: { ...a.inline, ...b.inline },
  }
}

function look(node: ts.TypeLiteralNode): Look {
  return node.members
    .filter(ts.isPropertySignature)
    .map(member => lookOfField(nameOf(member.name), member))
    .reduce<Look>(join, EMPTY)
}

function lookOfField(name: string, { type, questionToken }: ts.PropertySignature): Look {
  if (type && ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal))
    return { fields: [name], literals: { [name]: type.literal.text }, inline: {} }
  const inline = type && ts.isTypeLiteralNode(type) ? { [name]: look(type).fields } : {}
  return { fields: [questionToken ? `${name}?` : name], literals: {}, inline }
}

function declared(found: readonly Alternative[]): Declared | null {
  const [first] = found
  if (first === undefined) return null
  if (found.length === 1 && typeof first !== 'string' && Object.keys(first.literals).length === 0) return first.fields
  const tag = commonTag(found.filter(one => typeof one !== 'string'))
  const variants: Record<string, Fields | null> = {}
  for (const one of found) {
    const [name, fields] = variant(one, tag)
    const same = variants[name]
    variants[name] = same && fields ? alike(same, fields) : fields
  }
  return variants
}

function variant(one: Alternative, tag: string | undefined): [string, Fields | null] {
  if (typeof one === 'string') return [one, null]
  const name = tag === undefined ? undefined : one.literals[tag]
  if (name !== undefined) return [name, one.fields.filter(field => field !== tag)]
  const [key = ''] = one.fields
  return [key, one.inline[key] ?? null]
}

function commonTag(looks: readonly Look[]): string | undefined {
  return Object.keys(looks[0]?.literals ?? {}).find(field => looks.every(one => field in one.literals))
}

/** Fields of two forms of one variant: what only one of them has may be absent. */
function alike(a: Fields, b: Fields): Fields {
  const only = (own: Fields, other: Fields) => own.map(field => (other.includes(field) ? field : optional(field)))
  return [...new Set([...only(a, b), ...only(b, a)])]
}

function optional(field: string): string {
  return field.endsWith('?') ? field : `${field}?`
}

/** ts-rs writes a struct without fields as `Record<string, never>`. */
function isEmptyStruct(node: ts.TypeNode): boolean {
  return (
    ts.isTypeReferenceNode(node) &&
    nameOf(node.typeName) === 'Record' &&
    node.typeArguments?.[1]?.kind === ts.SyntaxKind.NeverKeyword
  )
}

function nameOf(node: ts.EntityName | ts.PropertyName): string {
  if (ts.isIdentifier(node) || ts.isStringLiteral(node)) return node.text
  throw new Error(`a name of kind ${ts.SyntaxKind[node.kind]} is not understood`)
}
