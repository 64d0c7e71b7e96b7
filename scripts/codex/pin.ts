import { readFileSync } from 'node:fs'
import type { Declarations, Declared } from './declarations.ts'
import { readOverrides } from './overrides.ts'
import { type Bundle, nameOfRef, type Schema, type SchemaNode } from './schema.ts'

/** The vendored versions, the one we answer for first. */
export const PINS = ['0.142.5', '0.171.0'] as const
export type PinName = (typeof PINS)[number]

/** The unions of a bundle that list its methods. */
export const DIRECTIONS = ['ClientRequest', 'ClientNotification', 'ServerNotification', 'ServerRequest'] as const
export type Direction = (typeof DIRECTIONS)[number]

/** One vendored protocol version. */
export interface Pin {
  readonly version: string
  readonly stable: Bundle
  readonly experimental: Bundle
  readonly declarations: Declarations
}

/** Where the vendored files of a version lie. */
export function pinFolder(version: string): URL {
  return new URL(`../../protocol-vendored/codex/${version}/`, import.meta.url)
}

/** Reads a vendored version. Throws when it is not there. */
export function readPin(version: string): Pin {
  const read = (file: string) => JSON.parse(readFileSync(new URL(file, pinFolder(version)), 'utf8'))
  return {
    version,
    stable: { definitions: read('stable.schema.json') },
    experimental: { definitions: read('experimental.schema.json') },
    declarations: corrected(read('required.json'), readOverrides().omittedWhenNull),
  }
}

/** The declarations with the listed fields (`Struct.field`) as ones that may be absent. */
function corrected(declarations: Declarations, absent: readonly string[]): Declarations {
  const correct = (type: string, declared: Declared): Declared => {
    if (!Array.isArray(declared)) return declared
    return declared.map((field: string) => (absent.includes(`${type}.${field}`) ? `${field}?` : field))
  }
  return Object.fromEntries(Object.entries(declarations).map(([type, declared]) => [type, correct(type, declared)]))
}

/** Methods of one direction with the schema of their params (undefined: none), in the order of the bundle. */
export function methodsOf(bundle: Bundle, direction: Direction): ReadonlyMap<string, Schema | undefined> {
  const union = bundle.definitions[direction] as SchemaNode
  return new Map((union.oneOf ?? []).map(member => methodOf(member as SchemaNode)))
}

/** Name of the struct that a method's params are; undefined for a method without params. */
export function paramsName(params: Schema | undefined): string | undefined {
  if (typeof params !== 'object') return undefined
  return nameOfRef(params) ?? params.anyOf?.map(nameOfRef).find(name => name !== undefined)
}

function methodOf({ properties }: SchemaNode): [string, Schema | undefined] {
  const [name] = (properties?.method as SchemaNode | undefined)?.enum ?? []
  if (name === undefined) throw new Error('a member of the union has no method')
  return [name, properties?.params]
}
