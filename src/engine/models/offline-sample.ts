import { list, object } from './fields.ts'

/** How deep a sample goes; a schema that refers to itself would never end. */
const DEPTH = 8

/** A small value that fits the JSON `schema` as far as a few lines can tell; its strings say `text`. */
export function sampleOf(schema: unknown, text: string): unknown {
  return sample(schema, { root: schema, text }, 0)
}

interface About {
  readonly root: unknown
  readonly text: string
}

function sample(schema: unknown, about: About, depth: number): unknown {
  const { $ref, const: fixed, enum: members, anyOf, oneOf, type } = object(schema)
  if (depth > DEPTH) return null
  if (typeof $ref === 'string') return sample(lookUp(about.root, $ref), about, depth + 1)
  if (fixed !== undefined) return fixed
  const choice = list(members)[0]
  if (choice !== undefined) return choice
  const first = list(anyOf)[0] ?? list(oneOf)[0]
  if (first !== undefined) return sample(first, about, depth + 1)
  return ofType(Array.isArray(type) ? type[0] : type, object(schema), { ...about, depth })
}

function ofType(type: unknown, schema: Readonly<Record<string, unknown>>, about: About & { depth: number }): unknown {
  switch (type) {
    case 'string':
      return about.text.slice(0, typeof schema.maxLength === 'number' ? schema.maxLength : undefined)
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? Math.ceil(schema.minimum) : 0
    case 'boolean':
      return false
    case 'array':
      return Array.from({ length: Math.min(Number(schema.minItems) || 0, 10) }, () =>
        sample(schema.items, about, about.depth + 1),
      )
    case 'null':
      return null
    default:
      return Object.fromEntries(
        Object.entries(object(schema.properties)).map(([name, part]) => [name, sample(part, about, about.depth + 1)]),
      )
  }
}

/** What a local reference (`#/$defs/x`) points at. */
const lookUp = (root: unknown, reference: string): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (Object.hasOwn(object(at), key) ? object(at)[key] : undefined), root)
