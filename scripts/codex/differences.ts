import { DIRECTIONS, methodsOf, type Pin } from './pin.ts'
import type { Schema, SchemaNode } from './schema.ts'

/** What the newer of two pins added (`+`), took away (`-`) or changed (`~`): methods first, then types and their fields. */
export function differences(older: Pin, newer: Pin): string[] {
  const methods = DIRECTIONS.flatMap(direction =>
    compare(
      direction,
      Object.fromEntries(methodsOf(older.experimental, direction)),
      Object.fromEntries(methodsOf(newer.experimental, direction)),
    ),
  )
  const types = compareTypes(older.experimental.definitions, newer.experimental.definitions)
  return [...methods, ...types]
}

type Table = { readonly [name: string]: unknown }

function compareTypes(older: Table, newer: Table): string[] {
  return names(older, newer)
    .filter(name => !DIRECTIONS.some(direction => direction === name))
    .flatMap(name => {
      const [a, b] = [older[name], newer[name]]
      if (a === undefined || b === undefined) return compare('type', pick(older, name), pick(newer, name))
      return compareForms(name, forms(a as Schema), forms(b as Schema))
    })
}

/** The fields of a struct, or of each variant of a union; a plain value is a form with one field. */
function forms(schema: Schema): Record<string, Table> {
  if (schema === true) return { '': { value: true } }
  const members = schema.oneOf ?? schema.anyOf
  const own = { '': schema.properties ? fields(schema) : members ? {} : { value: schema } }
  return Object.assign(own, ...(members ?? []).map((member, index) => formsOfMember(member as SchemaNode, index)))
}

function formsOfMember(member: SchemaNode, index: number): Record<string, Table> {
  if (member.enum) return Object.fromEntries(member.enum.map(name => [name, {}]))
  const tag = Object.values(member.properties ?? {}).find(field => field !== true && field.enum?.length === 1)
  const only = Object.keys(member.properties ?? {})[0]
  const name = (tag as SchemaNode | undefined)?.enum?.[0] ?? only ?? String(index)
  return { [name]: member.properties ? fields(member) : { value: member } }
}

/** Fields with their schemas; whether a field is required is part of what may change. */
function fields({ properties, required }: SchemaNode): Table {
  const entries = Object.entries(properties ?? {})
  return Object.fromEntries(entries.map(([name, schema]) => [name, [schema, required?.includes(name) ?? false]]))
}

function compareForms(type: string, older: Record<string, Table>, newer: Record<string, Table>): string[] {
  return names(older, newer).flatMap(form => {
    const [a, b] = [older[form], newer[form]]
    if (a === undefined) return [`+ ${type} | ${form}`]
    if (b === undefined) return [`- ${type} | ${form}`]
    return compare(form === '' ? type : `${type} | ${form}`, a, b)
  })
}

function compare(what: string, older: Table, newer: Table): string[] {
  return names(older, newer).flatMap(name => {
    const [a, b] = [JSON.stringify(older[name]), JSON.stringify(newer[name])]
    if (name in older && name in newer) return a === b ? [] : [`~ ${what} ${name}: ${a} -> ${b}`]
    return name in newer ? [`+ ${what} ${name}`] : [`- ${what} ${name}`]
  })
}

function names(older: Table, newer: Table): string[] {
  return [...new Set([...Object.keys(older), ...Object.keys(newer)])].sort()
}

function pick(table: Table, name: string): Table {
  return name in table ? { [name]: table[name] } : {}
}
