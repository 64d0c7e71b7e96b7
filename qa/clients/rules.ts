import { isObject } from '../../src/base/json.ts'

/** Faults a proxy can inject. Methods are exact names, or patterns when they hold one of `^ * $ |`. */
export interface Rules {
  /** Requests answered with -32601 without reaching the server. */
  readonly deny?: readonly string[]
  /** When present, every request not named is denied. */
  readonly onlyAllow?: readonly string[]
  /** Requests that are never answered. */
  readonly hang?: readonly string[]
  /** Requests answered with this result without reaching the server. */
  readonly stub?: Readonly<Record<string, unknown>>
  /** Notifications that never reach the client. */
  readonly drop?: readonly string[]
  /** Milliseconds a response, notification or request of the server is held back. Later frames may overtake it. */
  readonly delay?: Readonly<Record<string, number>>
  /** Keys (dotted, `*` for every entry) removed from results of a method, or from params of a notification. */
  readonly remove?: Readonly<Record<string, readonly string[]>>
  /** Keys set likewise. */
  readonly set?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Removes every key whose value is null. */
  readonly dropNulls?: boolean
  /** Adds an unknown key to every object, and an unknown notification after every response. */
  readonly addUnknown?: boolean
  /** Adds `"jsonrpc":"2.0"`. */
  readonly jsonrpc?: boolean
}

/** What becomes of a client's message. */
export interface ClientVerdict {
  readonly pass: boolean
  readonly rule: string | null
  /** Sent back in the server's name. */
  readonly reply?: unknown
}

/** What becomes of a server's message. */
export interface ServerVerdict {
  readonly pass: boolean
  readonly rule: string | null
  readonly frame: unknown
  readonly delayMs: number
  readonly extra: readonly unknown[]
}

const PASS: ClientVerdict = { pass: true, rule: null }

/** Applies the rules to one message of the client. Only requests are ever held up. */
export function fromClient(frame: unknown, rules: Rules): ClientVerdict {
  if (!isObject(frame) || typeof frame.method !== 'string' || frame.id === undefined) return PASS
  const { id, method } = frame
  if (rules.stub && Object.hasOwn(rules.stub, method)) {
    return { pass: false, rule: 'stub', reply: { id, result: rules.stub[method] } }
  }
  if (named(method, rules.deny) || (rules.onlyAllow && !named(method, rules.onlyAllow))) {
    return { pass: false, rule: 'deny', reply: { id, error: { code: -32601, message: `Method not found: ${method}` } } }
  }
  return named(method, rules.hang) ? { pass: false, rule: 'hang' } : PASS
}

/** Applies the rules to one message of the server; `answers` is the method of the request a response answers. */
export function fromServer(frame: unknown, answers: string | null, rules: Rules): ServerVerdict {
  const asIs: ServerVerdict = { pass: true, rule: null, frame, delayMs: 0, extra: [] }
  if (!isObject(frame)) return asIs
  const method = typeof frame.method === 'string' ? frame.method : answers
  const isNotification = typeof frame.method === 'string' && frame.id === undefined
  if (method === null) return asIs
  if (isNotification && named(method, rules.drop)) return { ...asIs, pass: false, rule: 'drop' }
  const changed = spoil(frame, method, rules)
  const delayMs = rules.delay?.[method] ?? 0
  return {
    pass: true,
    rule: changed === frame ? (delayMs > 0 ? 'delay' : null) : 'change',
    frame: changed,
    delayMs,
    extra: rules.addUnknown && !isNotification ? [{ method: 'no/such/notification', params: { a: 1 } }] : [],
  }
}

function spoil(frame: Record<string, unknown>, method: string, rules: Rules): Record<string, unknown> {
  const { remove, set, dropNulls, addUnknown, jsonrpc } = rules
  if (!(remove?.[method] || set?.[method] || dropNulls || addUnknown || jsonrpc)) return frame
  const copy = structuredClone(frame)
  const body = copy.result ?? copy.params
  for (const path of remove?.[method] ?? []) edit(body, path.split('.'), (target, key) => delete target[key])
  for (const [path, value] of Object.entries(set?.[method] ?? {})) {
    edit(body, path.split('.'), (target, key) => {
      target[key] = value
    })
  }
  if (dropNulls) visit(body, object => pruneNulls(object))
  if (addUnknown) {
    visit(body, object => {
      object.xUnknown = { a: 1 }
    })
  }
  return jsonrpc ? { jsonrpc: '2.0', ...copy } : copy
}

function pruneNulls(object: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(object)) if (value === null) delete object[key]
}

function edit(
  value: unknown,
  [head = '', ...rest]: readonly string[],
  change: (target: Record<string, unknown>, key: string) => void,
): void {
  if (typeof value !== 'object' || value === null) return
  const target = value as Record<string, unknown>
  for (const key of head === '*' ? Object.keys(target) : [head]) {
    if (rest.length === 0) change(target, key)
    else edit(target[key], rest, change)
  }
}

/** Visits every object below `value`, the inner ones first. */
function visit(value: unknown, see: (object: Record<string, unknown>) => void): void {
  if (Array.isArray(value)) for (const entry of value) visit(entry, see)
  if (!isObject(value)) return
  for (const entry of Object.values(value)) visit(entry, see)
  see(value)
}

function named(method: string, patterns: readonly string[] | undefined): boolean {
  return (patterns ?? []).some(p => p === method || (/[\^*$|]/.test(p) && new RegExp(p).test(method)))
}
