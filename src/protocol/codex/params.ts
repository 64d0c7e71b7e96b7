import { faultOf } from './fault.ts'
import { clientRequests } from './methods.gen.ts'
import { paramsShapes, replyShapes, shapes } from './shapes.gen.ts'

/**
 * Why the params of a client request are refused, in codex's words and without its prefix `Invalid request: `; null when
 * they are valid in a pin. `params` is the parsed value, undefined where the request has none. Throws on a method that no
 * pin has: look it up in `clientRequests` first. Load this module with `import()`, after `initialize` is answered.
 */
export function checkParams(method: string, params: unknown): string | null {
  const spec = clientRequests.get(method)
  if (spec === undefined) throw new Error(`${method} is in no pin`)
  if (spec.paramless) return null
  const shape = paramsShapes.get(method) ?? 'any'
  const isAbsent = params === undefined || params === null
  // A method without params in one pin and with optional ones in another may come without any.
  if (isAbsent) return typeof shape === 'object' && 'option' in shape ? null : 'missing field `params`'
  return faultOf(shape, params, shapes)
}

/** Why a client's result for one of our requests is not what that request asks for; null when it is. */
export function checkReply(method: string, result: unknown): string | null {
  const shape = replyShapes.get(method)
  if (shape === undefined) throw new Error(`${method} is no server request`)
  return faultOf(shape, result, shapes)
}
