/** The part of JSON Schema draft 7 that the exports use. `true` allows anything. */
export type Schema = true | SchemaNode

export interface SchemaNode {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly properties?: Schemas
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | SchemaNode
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly [other: string]: unknown
}

export type Schemas = { readonly [name: string]: Schema }

/** A bundle with one level of names: every reference reads `#/definitions/Name`. */
export interface Bundle {
  readonly definitions: Schemas
}

/** Keywords that tell a reader something and a validator nothing. */
const PROSE = new Set(['title', 'description', '$schema'])

/**
 * Makes a vendored bundle of an exported one: no prose, one level of names, sorted keys. Throws when two namespaces define
 * one name differently, because then flattening would change what the schema says.
 */
export function flatten(exported: unknown): Bundle {
  const { v2, ...root } = definitionsOf(exported)
  const definitions: Record<string, Schema> = {}
  for (const [name, schema] of [...Object.entries(root), ...Object.entries(v2 as Schemas)]) {
    const bare = prune(schema)
    const same = definitions[name]
    if (same !== undefined && JSON.stringify(same) !== JSON.stringify(bare))
      throw new Error(`two definitions of ${name}`)
    definitions[name] = bare
  }
  return { definitions: sorted(definitions) }
}

/** JSON with one definition a line, so that a diff of two versions names what changed. */
export function printLines(table: { readonly [name: string]: unknown }): string {
  return `{\n${Object.entries(table)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join(',\n')}\n}\n`
}

/** The name a reference points to; undefined for a schema that is no reference. */
export function nameOfRef(schema: Schema | undefined): string | undefined {
  return typeof schema === 'object' ? schema.$ref?.slice('#/definitions/'.length) : undefined
}

function definitionsOf(exported: unknown): Record<string, unknown> {
  const { definitions } = exported as { definitions?: Record<string, unknown> }
  if (definitions?.v2 === undefined) throw new Error('the export has no v2 definitions')
  return definitions
}

function prune(value: unknown): Schema {
  if (value === true) return true
  const node = Object.entries(value as SchemaNode).filter(([key]) => !PROSE.has(key))
  return sorted(Object.fromEntries(node.map(([key, part]) => [key, prunePart(key, part)])))
}

function prunePart(key: string, part: unknown): unknown {
  switch (key) {
    case 'properties':
      return sorted(Object.fromEntries(Object.entries(part as object).map(([name, schema]) => [name, prune(schema)])))
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return (part as unknown[]).map(prune)
    case 'items':
    case 'additionalProperties':
      return typeof part === 'boolean' ? part : prune(part)
    case 'required':
      return (part as string[]).toSorted()
    case '$ref':
      return (part as string).replace('#/definitions/v2/', '#/definitions/')
    default:
      return part
  }
}

function sorted<T extends object>(record: T): T {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))) as T
}
