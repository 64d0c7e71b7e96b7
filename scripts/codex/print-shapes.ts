import type { Shapes } from '../../src/protocol/codex/shape.ts'
import type { MethodTables } from './print-methods.ts'

/** The module that `params.ts` checks with: the named shapes of all we receive, and which of them belongs to which method. */
export function printShapes(shapes: Shapes, names: readonly string[], tables: MethodTables): string {
  const rows = names.map(name => `"${name}":${JSON.stringify(shapes[name])}`)
  const params = tables.clientRequests.flatMap(({ name, params, optional }) =>
    params === null ? [] : [row(name, params, optional)],
  )
  const replies = tables.serverRequests.flatMap(({ name, result }) =>
    result === null ? [] : [row(name, result, false)],
  )
  return `import type { Shape, Shapes } from './shape.ts'

/** Every named shape of what clients send. Node reads JSON in half the time that an object literal takes. */
export const shapes: Shapes = JSON.parse(String.raw\`{
${rows.join(',\n')}
}\`)

/** Params of the client requests that have any. */
export const paramsShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
${params.join('')}])

/** Results that clients give to our requests. */
export const replyShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
${replies.join('')}])
`
}

function row(method: string, name: string, optional: boolean): string {
  return `  ['${method}', ${optional ? `{ option: '#${name}' }` : `'#${name}'`}],\n`
}
