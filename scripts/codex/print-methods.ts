import type { MethodSpec } from '../../src/protocol/codex/pin.ts'
import type { ClientMethod, Method } from './methods.ts'
import type { Overrides } from './overrides.ts'

/** All methods, by who sends them. */
export interface MethodTables {
  readonly clientRequests: readonly ClientMethod[]
  readonly clientNotifications: readonly Method[]
  readonly serverNotifications: readonly Method[]
  readonly serverRequests: readonly Method[]
}

/** The module of method maps (types) and method tables (values). */
export function printMethods(tables: MethodTables, overrides: Overrides, versions: readonly string[]): string {
  return [
    printImports(),
    printMap('ClientRequests', 'What each client request takes and gives.', tables.clientRequests.map(clientRow)),
    printMap(
      'ClientNotifications',
      'The params of each client notification.',
      tables.clientNotifications.map(received),
    ),
    printMap('ServerNotifications', 'The params of each notification we send.', tables.serverNotifications.map(sent)),
    printMap('ServerRequests', 'What each of our requests sends and gets back.', tables.serverRequests.map(serverRow)),
    printSpecs(tables.clientRequests),
    printPrimary(tables.clientRequests, versions),
    printSets(
      'serverNotifications',
      'Notifications that a client of a version knows.',
      tables.serverNotifications,
      versions,
    ),
    printSets('serverRequests', 'Server requests that a client of a version knows.', tables.serverRequests, versions),
    printGates(overrides),
  ].join('\n')
}

function printImports(): string {
  return `import type * as Received from './params.gen.ts'
import type { MethodSpec, PinVersion } from './pin.ts'
import type * as Sent from './types.gen.ts'
`
}

function printMap(name: string, comment: string, rows: readonly string[]): string {
  return `/** ${comment} */\nexport interface ${name} {\n${rows.map(row => `  ${row}\n`).join('')}}\n`
}

function clientRow(method: ClientMethod): string {
  const result = method.untyped ? 'unknown' : `Sent.${method.result}`
  return `'${method.name}': { params: ${paramsType(method, 'Received')}; result: ${result} }`
}

function serverRow(method: Method): string {
  return `'${method.name}': { params: ${paramsType(method, 'Sent')}; result: Received.${method.result} }`
}

function received(method: Method): string {
  return `'${method.name}': ${paramsType(method, 'Received')}`
}

function sent(method: Method): string {
  return `'${method.name}': ${paramsType(method, 'Sent')}`
}

function paramsType({ params, untyped, optional }: Method, module: string): string {
  if (untyped && params === null) return 'unknown'
  if (params === null) return 'undefined'
  return `${module}.${params}${optional ? ' | null | undefined' : ''}`
}

function printSpecs(methods: readonly ClientMethod[]): string {
  const rows = methods.map(({ name, spec }) => `  ['${name}', ${printSpec(spec)}],\n`)
  return `/** What the pins say of each client request. A name that is not here is unknown to both. */
export const clientRequests: ReadonlyMap<string, MethodSpec> = new Map<keyof ClientRequests, MethodSpec>([
${rows.join('')}])

/** Whether a pin has the client request. */
export function isClientRequest(method: string): method is keyof ClientRequests {
  return clientRequests.has(method)
}
`
}

function printSpec({ pins, paramless, threadLane, experimental }: MethodSpec): string {
  const gate = experimental === true ? 'true' : list(experimental)
  return `{ pins: ${list(pins)}, paramless: ${paramless}, threadLane: ${threadLane ? `'${threadLane}'` : null}, experimental: ${gate} }`
}

function printPrimary(methods: readonly ClientMethod[], [primary = '']: readonly string[]): string {
  const known = methods.filter(({ pins }) => pins.some(pin => pin === primary)).map(({ name }) => name)
  return `/** Client requests of the primary pin in declaration order, as its "unknown variant" text lists them. */
export const primaryMethods: readonly string[] = ${lines(known)}
`
}

function printSets(name: string, comment: string, methods: readonly Method[], versions: readonly string[]): string {
  const sets = versions.map(version => {
    const known = methods.filter(({ pins }) => pins.some(pin => pin === version)).map(one => one.name)
    return `  '${version}': new Set(${lines(known, '  ')}),\n`
  })
  return `/** ${comment} */
export const ${name}: Readonly<Record<PinVersion, ReadonlySet<string>>> = {
${sets.join('')}}
`
}

function printGates({ experimentalNotifications, experimentalVariants }: Overrides): string {
  const variants = experimentalVariants.map(
    ({ field, variant, name }) => `  { field: '${field}', variant: '${variant}', name: '${name}' },\n`,
  )
  return `/** Notifications that only a connection with the experimental capability gets. */
export const experimentalNotifications: ReadonlySet<string> = new Set(${lines(experimentalNotifications)})

/** Enum variants of params fields that need the capability, with the name the refusal gives them. */
export const experimentalVariants: readonly { readonly field: string; readonly variant: string; readonly name: string }[] = [
${variants.join('')}]
`
}

function list(names: readonly string[]): string {
  return `[${names.map(name => `'${name}'`).join(', ')}]`
}

function lines(names: readonly string[], indent = ''): string {
  return `[\n${names.map(name => `${indent}  '${name}',\n`).join('')}${indent}]`
}
