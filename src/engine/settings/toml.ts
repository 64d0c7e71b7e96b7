import { parse, TomlDate, TomlError } from 'smol-toml'
import type { Json, JsonObject } from '../../base/json.ts'
import { isTable, type KeyPath } from './tree.ts'

/** A place in a text; lines and columns count from 1, `endColumn` is the last column of the thing. */
export interface Place {
  readonly line: number
  readonly column: number
  readonly endColumn: number
}

/** Why a text is no TOML. `place` is null when nothing in particular is wrong with any line. */
export interface TomlFault {
  readonly message: string
  readonly place: Place | null
}

/**
 * Reads TOML into JSON: dates become their text, integers beyond 2^53 the nearest number. Keys that reach a prototype
 * are dropped. Returns the fault instead of throwing.
 */
export function parseToml(text: string): JsonObject | TomlFaulty {
  try {
    const options = { integersAsBigInt: 'asNeeded', unsafeKeyBehaviour: 'drop', maxDepth: 64 } as const
    // Closed with a newline, a key without value at the very end is reported like any other.
    return toJson(parse(`${withoutBom(text)}\n`, options)) as JsonObject
  } catch (error) {
    return new TomlFaulty(faultOf(error, text))
  }
}

/** Wraps a fault so that it cannot be mistaken for a table that happens to have its keys. */
export class TomlFaulty {
  constructor(fault: TomlFault) {
    this.fault = fault
  }
  readonly fault: TomlFault
}

/** Longer texts are not searched for a place: the search reads what comes before every line it looks at. */
const MAX_LOCATED_LINES = 2000

/**
 * Where the value of `path` stands in `text`, which must parse: the innermost key on the way to it that has a line of
 * its own. Null when no line is found. Only for messages: it reads lines, not the whole grammar.
 */
export function locate(text: string, path: KeyPath): Place | null {
  const lines = withoutBom(text).split(/\r?\n/)
  if (lines.length > MAX_LOCATED_LINES) return null
  let table: KeyPath = []
  let found: Place | null = null
  let depth = 0
  for (const [index, line] of lines.entries()) {
    const equals = HEADER.test(line) ? -1 : equalsSign(line)
    const key = keyOf(line, equals)
    if (key === null || !startsStatement(lines, index)) continue
    if (equals === -1) table = key
    else if (isPrefix([...table, ...key], path) && table.length + key.length > depth) {
      depth = table.length + key.length
      found = valuePlace(line, index + 1, equals + 1)
    }
  }
  return found
}

const HEADER = /^\s*\[\[?(?:[^[\]"]|"[^"]*")+\]\]?\s*(?:#.*)?$/

/** The key that a line sets (`equals` is where its `=` is) or, without `=`, the table it opens; else null. */
function keyOf(line: string, equals: number): KeyPath | null {
  if (equals !== -1) return singleKey(`${line.slice(0, equals)} = 0`)
  return HEADER.test(line) ? singleKey(line) : null
}

const withoutBom = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text)

function toJson(value: unknown): Json {
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof TomlDate) return value.toISOString()
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value as Json
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJson(inner)]))
}

function faultOf(error: unknown, text: string): TomlFault {
  if (!(error instanceof TomlError)) return { message: String((error as Error)?.message ?? error), place: null }
  const { line, column } = error
  return { message: faultText(error, text), place: { line, column, endColumn: column } }
}

/** The parser's own words, or codex's for the faults people meet most. */
function faultText(error: TomlError, text: string): string {
  const said = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
  if (said.includes('redefine')) return 'duplicate key'
  if (said !== 'illegal character in key') return said
  const before = (withoutBom(text).split('\n')[error.line - 1] ?? '').slice(0, error.column - 1).trim()
  if (before.startsWith('[')) return 'unclosed table, expected `]`'
  return before === '' ? said : 'key with no value, expected `=`'
}

/** Index of the first `=` outside quotes, before any comment; -1 when there is none. */
function equalsSign(line: string): number {
  const match = /^(?:[^"'#=]|"(?:[^"\\]|\\.)*"|'[^']*')*=/.exec(line)
  return match ? match[0].length - 1 : -1
}

/** The path of the one key that `line` sets or opens, or null when it is not such a line. */
function singleKey(line: string): KeyPath | null {
  let here: unknown = parseToml(line)
  if (here instanceof TomlFaulty) return null
  const path: string[] = []
  while (isTable(here) || Array.isArray(here)) {
    if (Array.isArray(here)) here = here[0]
    else {
      const [entry] = Object.entries(here)
      if (!entry) break
      path.push(entry[0])
      here = entry[1]
    }
  }
  return path.length > 0 ? path : null
}

/** A line inside a multi-line string or list looks like a key but is none: there, what comes before does not parse. */
const startsStatement = (lines: readonly string[], index: number): boolean =>
  !(parseToml(lines.slice(0, index).join('\n')) instanceof TomlFaulty)

const isPrefix = (short: KeyPath, long: KeyPath): boolean => short.every((key, i) => key === long[i])

function valuePlace(line: string, number: number, from: number): Place {
  const rest = line.slice(from)
  const column = from + (rest.length - rest.trimStart().length) + 1
  const scalar = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s#,[\]{}"']+)/.exec(rest.trimStart())
  return { line: number, column, endColumn: column + Math.max(0, (scalar?.[0].length ?? 1) - 1) }
}
