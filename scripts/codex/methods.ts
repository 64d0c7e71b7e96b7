import type { MethodSpec, PinVersion } from '../../src/protocol/codex/pin.ts'
import type { Overrides } from './overrides.ts'
import { type Direction, methodsOf, type Pin, paramsName } from './pin.ts'
import type { SchemaNode } from './schema.ts'

/** One method of any direction, as the pins together have it. */
export interface Method {
  readonly name: string
  readonly pins: readonly PinVersion[]
  /** Name of the params type; null: none, or (`untyped`) one that no schema describes. */
  readonly params: string | null
  readonly untyped: boolean
  /** Params may be absent or null. */
  readonly optional: boolean
  /** Name of the result type; null for notifications and untyped methods. */
  readonly result: string | null
}

export interface ClientMethod extends Method {
  readonly spec: MethodSpec
}

/**
 * Client requests of all pins: those of the first in its declaration order, then what later ones add. The oldest few are
 * missing in the schemas and known by name only.
 */
export function clientMethods(pins: readonly Pin[], overrides: Overrides): ClientMethod[] {
  return methodNames(pins, 'ClientRequest').map(name => {
    const knowing = pins.filter(pin => declares(pin, 'ClientRequest', name))
    const method = {
      ...merged(name, knowing, { direction: 'ClientRequest', overrides }),
      result: resultName(name, pins, overrides),
    }
    return { ...method, spec: specOf(method, knowing) }
  })
}

/** Methods of a direction without a gate: notifications and server requests. */
export function otherMethods(
  pins: readonly Pin[],
  direction: Exclude<Direction, 'ClientRequest'>,
  overrides: Overrides,
): Method[] {
  return methodNames(pins, direction).map(name => {
    const knowing = pins.filter(pin => declares(pin, direction, name))
    const method = merged(name, knowing, { direction, overrides })
    if (direction !== 'ServerRequest') return method
    return { ...method, result: method.params?.replace(/Params$/, 'Response') ?? null }
  })
}

function methodNames(pins: readonly Pin[], direction: Direction): string[] {
  return [...new Set(pins.flatMap(({ declarations }) => Object.keys(declarations[direction] ?? {})))]
}

function declares({ declarations }: Pin, direction: Direction, method: string): boolean {
  return Object.hasOwn(declarations[direction] ?? {}, method)
}

function merged(
  name: string,
  pins: readonly Pin[],
  { direction, overrides }: { direction: Direction; overrides: Overrides },
): Method {
  const schemas = pins.map(({ experimental }) => methodsOf(experimental, direction))
  const params = [overrides.params[name], ...schemas.map(methods => paramsName(methods.get(name)))]
  const names = new Set(params.filter(one => one !== undefined))
  if (names.size > 1) throw new Error(`${name} has different params in the pins`)
  return {
    name,
    pins: pins.map(({ version }) => version as PinVersion),
    params: [...names][0] ?? null,
    untyped: names.size === 0 && !schemas.some(methods => methods.has(name)),
    optional: schemas.some(methods => isNullable(methods.get(name) as SchemaNode | undefined)),
    result: null,
  }
}

function isNullable(params: SchemaNode | undefined): boolean {
  return params?.type === 'null' || (params?.anyOf?.some(member => (member as SchemaNode).type === 'null') ?? false)
}

function resultName(method: string, pins: readonly Pin[], { responses }: Overrides): string | null {
  const params = pins.map(({ experimental }) => paramsName(methodsOf(experimental, 'ClientRequest').get(method)))
  const name = responses[method] ?? params.find(one => one !== undefined)?.replace(/Params$/, 'Response')
  if (name === undefined) return null
  if (!pins.some(({ experimental }) => experimental.definitions[name])) throw new Error(`${method}: no type ${name}`)
  return name
}

function specOf({ name, params, untyped }: Method, pins: readonly Pin[]): MethodSpec {
  const [first] = pins
  if (first === undefined) throw new Error(`no pin knows ${name}`)
  const fields = pins.flatMap(({ experimental }) => fieldsOf(experimental.definitions[params ?? ''] as SchemaNode))
  return {
    pins: pins.map(({ version }) => version as PinVersion),
    paramless: params === null && !untyped,
    threadLane: fields.includes('threadId') ? 'threadId' : null,
    experimental: experimentalOf(name, params, first),
  }
}

/** What the stable schema of a pin leaves out of its experimental one. */
function experimentalOf(method: string, params: string | null, pin: Pin): true | readonly string[] {
  const { experimental, stable, declarations } = pin
  const isKnown = methodsOf(experimental, 'ClientRequest').has(method)
  if (isKnown && !methodsOf(stable, 'ClientRequest').has(method)) return true
  if (params === null) return []
  const [all, open] = [experimental, stable].map(({ definitions }) => fieldsOf(definitions[params] as SchemaNode))
  const declared = declarations[params]
  const order = Array.isArray(declared) ? declared.map((field: string) => field.replace('?', '')) : (all ?? [])
  return order.filter(field => all?.includes(field) && !open?.includes(field))
}

function fieldsOf(schema: SchemaNode | undefined): readonly string[] {
  return Object.keys(schema?.properties ?? {})
}
