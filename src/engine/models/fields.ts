import { isObject } from '../../base/json.ts'

const NONE: Readonly<Record<string, unknown>> = Object.freeze({})

/** `value` as an object, else an empty one: what a provider sends is never trusted to have the right shape. */
export const object = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : NONE)

/** `value` as a list, else an empty one. */
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** `value` as a non-empty string, else null. */
export const filled = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? text(value) : null

/** `value` as a count of tokens: a whole number from 0, else 0. */
export const count = (value: unknown): number =>
  typeof value === 'number' && value > 0 && Number.isFinite(value) ? Math.floor(value) : 0

/** String methods of ES2024 that every supported Node has and the compiler's library lacks. */
interface WellFormed {
  isWellFormed(): boolean
  toWellFormed(): string
}

/** `value` as a string, else ''. A lone surrogate becomes U+FFFD: clients written in Rust cannot read one. */
export function text(value: unknown): string {
  if (typeof value !== 'string') return ''
  const string = value as unknown as WellFormed
  return string.isWellFormed() ? value : string.toWellFormed()
}

/** The value of one event's JSON; undefined when it is not an object. */
export function parseEvent(data: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
