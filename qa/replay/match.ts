import { isUuid } from '../../src/base/ids.ts'
import { isObject } from '../../src/base/json.ts'

/** Values captured so far, by name. */
export type Values = Map<string, unknown>

/** Why a frame does not match: a JSON pointer into it and a sentence. */
export interface Mismatch {
  readonly at: string
  readonly why: string
}

/** Whether values of a kind, named after the colon of `<x:kind>`, look like it. */
const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  string: value => typeof value === 'string',
  uuid: value => typeof value === 'string' && isUuid(value),
  int: value => Number.isSafeInteger(value),
  number: value => typeof value === 'number',
  bool: value => typeof value === 'boolean',
  array: value => Array.isArray(value),
  object: value => isObject(value),
  // Whole seconds and whole milliseconds since the epoch, of this century.
  time: value => Number.isSafeInteger(value) && Number(value) > 1e9 && Number(value) < 1e10,
  ms: value => Number.isSafeInteger(value) && Number(value) > 1e12 && Number(value) < 1e13,
}

/** What a kind looks like inside a longer string. */
const EMBEDDED: Readonly<Record<string, string>> = {
  uuid: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}',
  int: '-?\\d+',
  time: '\\d{10}',
  ms: '\\d{13}',
}

const TOKEN = /<<|<([a-z]\w*)?(?::([a-z]+))?>/gi
const WHOLE = /^<([a-z]\w*)?(?::([a-z]+))?>$/i

/**
 * Holds `actual` against a pattern. Gives null and adds what it captured to `values`, or says where they differ and leaves
 * `values` as they were. The grammar of patterns is in qa/README.md.
 */
export function match(pattern: unknown, actual: unknown, values: Values): Mismatch | null {
  const found = new Map(values)
  const mismatch = compare(pattern, actual, found, '')
  if (mismatch === null) for (const [name, value] of found) values.set(name, value)
  return mismatch
}

/** A message to send, with every captured value in its place. */
export function fill(pattern: unknown, values: Values): unknown {
  if (typeof pattern === 'string') return fillString(pattern, values)
  if (Array.isArray(pattern)) return pattern.map(entry => fill(entry, values))
  if (!isObject(pattern)) return pattern
  return Object.fromEntries(Object.entries(pattern).map(([key, value]) => [key, fill(value, values)]))
}

function compare(pattern: unknown, actual: unknown, values: Values, at: string): Mismatch | null {
  if (typeof pattern === 'string') return compareString(pattern, actual, values, at)
  if (Array.isArray(pattern)) return compareArray(pattern, actual, values, at)
  if (isObject(pattern)) return compareObject(pattern, actual, values, at)
  return pattern === actual ? null : differs(at, pattern, actual)
}

function compareObject(pattern: Record<string, unknown>, actual: unknown, values: Values, at: string): Mismatch | null {
  if (!isObject(actual)) return differs(at, 'an object', actual)
  const open = pattern['...'] === true
  for (const [key, expected] of Object.entries(pattern)) {
    if (key === '...' && open) continue
    if (!Object.hasOwn(actual, key)) return { at: `${at}/${key}`, why: `missing; expected ${show(expected)}` }
    const mismatch = compare(expected, actual[key], values, `${at}/${key}`)
    if (mismatch) return mismatch
  }
  const extra = open ? undefined : Object.keys(actual).find(key => !Object.hasOwn(pattern, key))
  return extra === undefined ? null : { at: `${at}/${extra}`, why: `unexpected key with ${show(actual[extra])}` }
}

function compareArray(pattern: readonly unknown[], actual: unknown, values: Values, at: string): Mismatch | null {
  if (!Array.isArray(actual)) return differs(at, 'an array', actual)
  const open = pattern.at(-1) === '...'
  const wanted = open ? pattern.slice(0, -1) : pattern
  if (open ? actual.length < wanted.length : actual.length !== wanted.length) {
    return { at, why: `expected ${open ? 'at least ' : ''}${wanted.length} entries, got ${actual.length}` }
  }
  for (const [index, entry] of wanted.entries()) {
    const mismatch = compare(entry, actual[index], values, `${at}/${index}`)
    if (mismatch) return mismatch
  }
  return null
}

function compareString(pattern: string, actual: unknown, values: Values, at: string): Mismatch | null {
  const whole = WHOLE.exec(pattern)
  if (whole && (whole[1] || whole[2])) return compareToken(whole[1], whole[2], actual, values, at)
  if (typeof actual !== 'string') return differs(at, pattern, actual)
  const names: string[] = []
  const found = new RegExp(`^${expression(pattern, values, names)}$`, 's').exec(actual)
  if (!found) return differs(at, pattern, actual)
  for (const [index, name] of names.entries()) values.set(name, found[index + 1])
  return null
}

function compareToken(
  name: string | undefined,
  kind: string | undefined,
  actual: unknown,
  values: Values,
  at: string,
): Mismatch | null {
  if (kind !== undefined && !kindOf(kind)(actual)) return differs(at, `a value of kind ${kind}`, actual)
  if (name === undefined) return null
  if (values.has(name)) return same(values.get(name), actual) ? null : differs(at, values.get(name), actual)
  if (kind === undefined) throw new Error(`nothing is known as <${name}> yet`)
  values.set(name, actual)
  return null
}

/** A regular expression for a string with tokens in it; names of new captures are appended to `names`. */
function expression(pattern: string, values: Values, names: string[]): string {
  let source = ''
  let end = 0
  for (const token of pattern.matchAll(TOKEN)) {
    source += literal(pattern.slice(end, token.index))
    source += tokenSource(token[0], token[1], token[2], values, names)
    end = token.index + token[0].length
  }
  return source + literal(pattern.slice(end))
}

function tokenSource(
  text: string,
  name: string | undefined,
  kind: string | undefined,
  values: Values,
  names: string[],
): string {
  if (text === '<<') return '<'
  if (name === undefined && kind === undefined) return literal(text)
  if (name !== undefined && values.has(name)) return literal(String(values.get(name)))
  if (kind === undefined) throw new Error(`nothing is known as ${text} yet`)
  kindOf(kind)
  const source = EMBEDDED[kind] ?? '.*?'
  if (name === undefined) return source
  names.push(name)
  return `(${source})`
}

function fillString(text: string, values: Values): unknown {
  const whole = WHOLE.exec(text)
  if (whole?.[1]) return known(whole[1], values)
  return text.replace(TOKEN, (token, name: string | undefined) => {
    if (token === '<<') return '<'
    return name === undefined ? token : String(known(name, values))
  })
}

function known(name: string, values: Values): unknown {
  if (!values.has(name)) throw new Error(`nothing is known as <${name}> yet`)
  return values.get(name)
}

function kindOf(kind: string): (value: unknown) => boolean {
  const test = KINDS[kind]
  if (!test) throw new Error(`unknown kind ${kind}: one of ${Object.keys(KINDS).join(', ')}`)
  return test
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

function differs(at: string, expected: unknown, actual: unknown): Mismatch {
  return { at, why: `expected ${show(expected)}, got ${show(actual)}` }
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 300 ? `${text.slice(0, 300)}...` : text
}
