import { isObject } from '../../base/json.ts'
import type { ToolResult } from './tool.ts'

/** The arguments of one call, or what the model is told when they are no good. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string }

/** What a tool answers with: one text for the model. */
export const said = (text: string): ToolResult => ({ parts: [{ type: 'text', text }], isError: false })

/** The same for a call that did not do its work. */
export const failed = (text: string): ToolResult => ({ parts: [{ type: 'text', text }], isError: true })

/** The text that codex gives a model whose arguments it cannot use. */
export const badArguments = (error: string): ToolResult => failed(`failed to parse function arguments: ${error}`)

/** Reads a JSON object of arguments through `read`, whose complaints carry a place as serde's do. */
export function parseArguments<T>(text: string, read: (args: Arguments) => T): Parsed<T> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (text.trim() === '') return { ok: false, error: 'EOF while parsing a value at line 1 column 0' }
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
  try {
    if (!isObject(value)) throw new Complaint(`invalid type: ${kindOf(value)}, expected an object`)
    return { ok: true, value: read(new Arguments(value)) }
  } catch (error) {
    if (error instanceof Complaint) return { ok: false, error: `${error.message} ${endOf(text)}` }
    throw error
  }
}

class Complaint extends Error {}

/**
 * Named arguments of one call. An argument that is absent or null is the same; a number or a boolean that a model wrote
 * as a string counts; anything else of the wrong type is a complaint.
 */
export class Arguments {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.#missing(name)
  }

  optionalText(name: string): string | null {
    const value = this.#get(name)
    if (value === null || typeof value === 'string') return value
    return this.#wrong(value, 'a string')
  }

  optionalBoolean(name: string): boolean | null {
    const value = this.#get(name)
    if (value === null || typeof value === 'boolean') return value
    if (value === 'true' || value === 'false') return value === 'true'
    return this.#wrong(value, 'a boolean')
  }

  /** A whole number from 0 up; a fraction is cut off. */
  optionalCount(name: string): number | null {
    const value = this.#get(name)
    if (value === null) return null
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && number >= 0 && Number.isFinite(number)) return Math.floor(number)
    return this.#wrong(value, 'u64')
  }

  list(name: string): readonly unknown[] {
    const value = this.#get(name)
    if (value === null) return this.#missing(name)
    return Array.isArray(value) ? value : this.#wrong(value, 'a sequence')
  }

  #get(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? (this.#values[name] ?? null) : null
  }

  #missing(name: string): never {
    throw new Complaint(`missing field \`${name}\``)
  }

  #wrong(value: unknown, expected: string): never {
    throw new Complaint(`invalid type: ${kindOf(value)}, expected ${expected}`)
  }
}

/** A complaint about arguments that a reader makes itself; it gets a place like the others. */
export function complain(message: string): never {
  throw new Complaint(message)
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'sequence'
  if (typeof value === 'string') return `string ${JSON.stringify(value.slice(0, 200))}`
  if (typeof value === 'boolean') return `boolean \`${value}\``
  if (typeof value === 'number') return `${Number.isInteger(value) ? 'integer' : 'floating point'} \`${value}\``
  return 'map'
}

function endOf(text: string): string {
  const lines = text.trimEnd().split('\n')
  return `at line ${lines.length} column ${lines.at(-1)!.length}`
}
