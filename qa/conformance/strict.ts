import { Ajv, type ErrorObject } from 'ajv'
import { clientMethods, otherMethods } from '../../scripts/codex/methods.ts'
import { readOverrides } from '../../scripts/codex/overrides.ts'
import { DIRECTIONS, type Pin, type PinName, readPin } from '../../scripts/codex/pin.ts'
import { isObject } from '../../src/base/json.ts'
import { strengthen } from './strengthen.ts'

/** What a frame alone does not tell. */
export interface FrameContext {
  /** The method of the request that a response answers. */
  readonly requestMethod?: string
}

/**
 * A check of frames that the server sent against one pin, as strictly as that version's own clients read them. Nothing is
 * compiled before a method is first seen.
 */
export interface Strict {
  /** What is wrong with a frame, one line a fault; empty where nothing is, or where the pin does not know the method. */
  check(frame: unknown, context?: FrameContext): string[]
}

type Check = (value: unknown) => string[]

/** A check against one pin. Reads the vendored files; keep it, it caches what it compiles. */
export function createStrict(version: PinName): Strict {
  const pin = readPin(version)
  const ajv = ajvFor(pin)
  const results = resultNames(pin)
  const compiled = new Map<string, Check>()
  const check = (value: unknown, type: string) => {
    const found = compiled.get(type) ?? compile(ajv, type)
    compiled.set(type, found)
    return found(value)
  }
  const notifications = paramsNames(pin, 'ServerNotification')
  const requests = paramsNames(pin, 'ServerRequest')

  return {
    check(frame, { requestMethod } = {}) {
      if (!isObject(frame)) return ['a frame is an object']
      if ('method' in frame) return checkCall(frame, 'id' in frame ? requests : notifications)
      if ('error' in frame) return checkError(frame)
      if (!('result' in frame)) return ['a frame has a method, a result or an error']
      const name = results.get(requestMethod ?? '')
      const faults = name === undefined ? [] : check(frame.result, name)
      return [...checkId(frame.id), ...faults.map(fault => `${requestMethod}: result${fault}`)]
    },
  }

  function checkCall({ id, method, params }: Record<string, unknown>, known: ReadonlyMap<string, string>) {
    if (typeof method !== 'string') return ['method is a string']
    const type = known.get(method)
    const faults = type === undefined ? [] : check(params, type)
    return [...(known === requests ? checkId(id) : []), ...faults.map(fault => `${method}: params${fault}`)]
  }

  function checkError(frame: Record<string, unknown>) {
    if ('result' in frame) return ['a response has a result or an error, not both']
    // Input whose id cannot be read is answered with null, which no schema has.
    const { id, ...rest } = frame
    return check({ ...rest, id: id === null ? 0 : id }, 'JSONRPCError').map(fault => `error response${fault}`)
  }

  function checkId(id: unknown) {
    return check(id, 'RequestId').map(fault => `id${fault}`)
  }
}

function ajvFor({ experimental, declarations, version }: Pin): Ajv {
  const ajv = new Ajv({ strict: false, discriminator: true, allErrors: true, validateSchema: false, inlineRefs: false })
  for (const [name, [min, max]] of Object.entries(RANGES))
    ajv.addFormat(name, { type: 'number', validate: number => number >= min && number <= max })
  ajv.addFormat('double', { type: 'number', validate: () => true })
  const methods: readonly string[] = DIRECTIONS
  const entries = Object.entries(strengthen(experimental.definitions, declarations)).filter(
    ([name]) => !methods.includes(name),
  )
  return ajv.addSchema({ $id: version, definitions: Object.fromEntries(entries) }, 'pin')
}

/** Rust's integers. Beyond 2^53 a JSON number is not exact, so the largest bounds are near ones. */
const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  uint8: [0, 2 ** 8 - 1],
  uint16: [0, 2 ** 16 - 1],
  uint32: [0, 2 ** 32 - 1],
  uint64: [0, 2 ** 64 - 2 ** 11],
  uint: [0, 2 ** 64 - 2 ** 11],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63 - 2 ** 10],
}

function compile(ajv: Ajv, type: string): Check {
  const validate = ajv.compile({ $ref: `pin#/definitions/${type}` })
  return value => (validate(value) ? [] : (validate.errors ?? []).map(tell))
}

function tell({ instancePath, message, params }: ErrorObject): string {
  const allowed = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : ''
  return `${instancePath} ${message}${allowed}`
}

function paramsNames(pin: Pin, direction: 'ServerNotification' | 'ServerRequest'): ReadonlyMap<string, string> {
  const methods = otherMethods([pin], direction, readOverrides())
  return new Map(methods.flatMap(({ name, params }) => (params === null ? [] : [[name, params] as const])))
}

function resultNames(pin: Pin): ReadonlyMap<string, string> {
  const methods = clientMethods([pin], readOverrides())
  return new Map(methods.flatMap(({ name, result }) => (result === null ? [] : [[name, result] as const])))
}
