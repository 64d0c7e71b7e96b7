import { isObject } from '../../base/json.ts'
import type { ToolSpec } from './model.ts'

/** A freeform tool as a function, for models that only call functions: its whole text is the argument `input`. */
export const freeformParameters = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole text for this tool, exactly as it is to be read.' } },
  required: ['input'],
  additionalProperties: false,
} as const

/** The JSON schema of a tool's arguments when it is sent as a function. */
export function functionParameters(tool: ToolSpec): unknown {
  if (tool.grammar !== undefined) return freeformParameters
  return tool.parameters ?? { type: 'object', properties: {} }
}

/** The arguments of a freeform call as a function's. */
export const wrapInput = (text: string): string => JSON.stringify({ input: text })

/**
 * The text inside the arguments of a freeform tool called as a function. A model that gets the name of the argument wrong,
 * or leaves the JSON away, means the same.
 */
export function unwrapInput(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    if (typeof value === 'string') return value
    if (!isObject(value)) return args
    const texts = Object.values(value).filter(part => typeof part === 'string')
    if (typeof value.input === 'string') return value.input
    return texts.length === 1 && texts[0] !== undefined ? texts[0] : args
  } catch {
    return args
  }
}

const OPENING = /^\s*\{\s*"input"\s*:\s*"/
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** Reads `{"input":"..."}` as it streams in and gives the text inside; deltas of other shapes give nothing. */
export class InputStream {
  #pending = ''
  #state: 'before' | 'inside' | 'after' = 'before'

  /** The text that `delta` adds. Escapes and surrogate pairs cut by the end of a delta wait for the next one. */
  push(delta: string): string {
    if (this.#state === 'after') return ''
    this.#pending += delta
    if (this.#state === 'before' && !this.#open()) return ''
    return this.#read()
  }

  #open(): boolean {
    const opening = OPENING.exec(this.#pending)
    if (opening) {
      this.#state = 'inside'
      this.#pending = this.#pending.slice(opening[0].length)
    } else if (this.#pending.length > 64) this.#state = 'after'
    return opening !== null
  }

  #read(): string {
    const { text, used, closed } = readText(this.#pending)
    this.#pending = closed ? '' : this.#pending.slice(used)
    if (closed) this.#state = 'after'
    return text
  }
}

/** Unescapes JSON string content up to its closing quote, or up to what can be read for sure. */
function readText(source: string): { readonly text: string; readonly used: number; readonly closed: boolean } {
  let text = ''
  let at = 0
  while (at < source.length) {
    const stop = nextStop(source, at)
    text += source.slice(at, stop)
    at = stop
    if (source[at] === '"') return { text, used: at + 1, closed: true }
    if (source[at] !== '\\') break
    const escaped = readEscape(source, at)
    if (!escaped) break
    text += escaped.text
    at += escaped.length
  }
  return { text, used: at, closed: false }
}

/** Where the next quote, backslash or half surrogate pair is, else the end. */
function nextStop(source: string, from: number): number {
  for (let at = from; at < source.length; at++) {
    const code = source.charCodeAt(at)
    if (code === 0x22 || code === 0x5c) return at
    if (at === source.length - 1 && code >= 0xd800 && code < 0xdc00) return at
  }
  return source.length
}

/** The escape at `at`; undefined while its rest is missing. */
function readEscape(source: string, at: number): { readonly text: string; readonly length: number } | undefined {
  const kind = source[at + 1]
  if (kind === undefined) return undefined
  if (kind !== 'u') return { text: ESCAPES[kind] ?? kind, length: 2 }
  const high = hex(source, at + 2)
  if (high === undefined) return undefined
  if (high < 0xd800 || high >= 0xdc00)
    return { text: high >= 0xd800 && high < 0xe000 ? '\ufffd' : String.fromCharCode(high), length: 6 }
  if (source.length < at + 12 && '\\u'.startsWith(source.slice(at + 6, at + 8))) return undefined
  const low = source.startsWith('\\u', at + 6) ? hex(source, at + 8) : undefined
  if (low === undefined || low < 0xdc00 || low >= 0xe000) return { text: '\ufffd', length: 6 }
  return { text: String.fromCharCode(high, low), length: 12 }
}

/** The four hex digits at `at`; undefined while they are not all there. Wrong digits read as U+FFFD. */
function hex(source: string, at: number): number | undefined {
  if (source.length < at + 4) return undefined
  const digits = source.slice(at, at + 4)
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 0xfffd
}
