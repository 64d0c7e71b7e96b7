import type { Declarations, Declared, Fields } from '../../scripts/codex/declarations.ts'
import type { Schema, SchemaNode, Schemas } from '../../scripts/codex/schema.ts'

/**
 * Makes a pin's definitions as strict as its Rust clients are about what a server sends: a field that the TypeScript export
 * calls required is required (null included), and an absolute path is absolute. Unions with a tag name it as their
 * discriminator, so that a fault is told for the variant that was meant.
 */
export function strengthen(definitions: Schemas, declarations: Declarations): Schemas {
  const entries = Object.entries(definitions).map(
    ([name, schema]) => [name, stronger(schema, declarations[name])] as const,
  )
  return { ...Object.fromEntries(entries), AbsolutePathBuf: { type: 'string', pattern: '^/' } }
}

function stronger(schema: Schema, declared: Declared | undefined): Schema {
  if (schema === true || declared === undefined) return schema
  if (Array.isArray(declared)) return withRequired(schema, declared as Fields)
  const variants = declared as { readonly [variant: string]: Fields | null }
  const key = schema.oneOf ? 'oneOf' : 'anyOf'
  const members = schema[key]?.map(member => strongerVariant(member as SchemaNode, schema.properties ?? {}, variants))
  if (members === undefined) return schema
  const tag = tagOf(members)
  if (tag === undefined) return { ...schema, [key]: members }
  return { ...schema, type: 'object', discriminator: { propertyName: tag }, oneOf: members }
}

function strongerVariant(
  member: SchemaNode,
  common: Schemas,
  variants: { readonly [variant: string]: Fields | null },
): SchemaNode {
  const tag = tagOf([member])
  if (tag !== undefined) return withRequired(member, variants[literal(member, tag) ?? ''] ?? [], common)
  const [name, ...others] = Object.keys(member.properties ?? {})
  if (name === undefined || others.length > 0) return member
  const inner = member.properties?.[name]
  const fields = variants[name]
  if (typeof inner !== 'object' || !fields) return member
  return { ...member, properties: { [name]: withRequired(inner, fields) } }
}

/** Only names that the schema knows too: the two exports disagree about the case of a few. */
function withRequired(schema: SchemaNode, fields: Fields, common: Schemas = {}): SchemaNode {
  const known = { ...common, ...schema.properties }
  const always = fields.filter(field => !field.endsWith('?') && field in known)
  return { ...schema, required: [...new Set([...(schema.required ?? []), ...always])] }
}

function tagOf(members: readonly SchemaNode[]): string | undefined {
  const fields = Object.keys(members[0]?.properties ?? {})
  return fields.find(field => members.every(member => literal(member, field) !== undefined))
}

function literal(member: SchemaNode, field: string): string | undefined {
  const schema = member.properties?.[field]
  return typeof schema === 'object' && schema.enum?.length === 1 ? schema.enum[0] : undefined
}
