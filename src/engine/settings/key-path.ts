import { EngineError } from '../errors.ts'
import { isUnsafeKey, type KeyPath } from './tree.ts'

/** Longest dotted path anyone may send; a longer one is a mistake or an attack. */
const MAX_LENGTH = 4096

/**
 * Splits a dotted key path. A segment may be quoted (`projects."/a.b".trust_level`), with `\"` and `\\` inside; unquoted
 * segments are taken as they stand. Throws `configInvalid` with codex's texts, and for keys that reach a prototype.
 */
export function parseKeyPath(text: string): KeyPath {
  if (text.trim() === '') throw refused('keyPath must not be empty')
  if (text.length > MAX_LENGTH) throw refused(`keyPath must not be longer than ${MAX_LENGTH} characters`)
  const path: string[] = []
  let at = 0
  do {
    const [segment, next] = text[at] === '"' ? quoted(text, at + 1) : bare(text, at)
    path.push(segment)
    at = next + 1
  } while (at <= text.length)
  for (const segment of path) checkSegment(segment)
  return path
}

/** Both return the segment and where the dot after it (or the end) stands. */
function bare(text: string, from: number): [string, number] {
  const dot = text.indexOf('.', from)
  const end = dot === -1 ? text.length : dot
  const segment = text.slice(from, end)
  if (segment.includes('"')) throw refused('invalid quoted keyPath segment')
  return [segment, end]
}

function quoted(text: string, from: number): [string, number] {
  let segment = ''
  for (let at = from; at < text.length; at++) {
    const c = text[at]
    if (c === '\\' && at + 1 < text.length) segment += text[++at]
    else if (c !== '"') segment += c
    else if (at + 1 < text.length && text[at + 1] !== '.') throw refused('invalid quoted keyPath segment')
    else return [segment, at + 1]
  }
  throw refused('unterminated quoted keyPath segment')
}

function checkSegment(segment: string): void {
  if (segment === '') throw refused('keyPath segments must not be empty')
  if (isUnsafeKey(segment)) throw refused(`keyPath segment \`${segment}\` is not allowed`)
}

const refused = (message: string): EngineError => new EngineError('configInvalid', message)
