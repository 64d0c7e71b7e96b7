import type { ConfigFile, FileFault } from './config-file.ts'

/** A problem of the configuration that a person should see although the server runs. */
export interface ConfigWarning {
  readonly summary: string
  readonly details: string | null
  readonly path: string | null
  /** From 1; the end is the last character. */
  readonly range: { readonly start: TextPoint; readonly end: TextPoint } | null
}

export interface TextPoint {
  readonly line: number
  readonly column: number
}

/** A broken file; the server runs on without it. */
export function faultWarning(file: ConfigFile, fault: FileFault): ConfigWarning {
  const { place } = fault
  const range = place && {
    start: { line: place.line, column: place.column },
    end: { line: place.line, column: place.endColumn },
  }
  const path = fault.message.startsWith(file.path) ? file.path : null
  return { summary: INVALID, details: fault.message, path, range }
}

/** A configuration that cannot be used although every file of it can be read. */
export const invalidWarning = (details: string): ConfigWarning => ({
  summary: INVALID,
  details,
  path: null,
  range: null,
})

/** Something a person should know; nothing is broken. */
export const noticeWarning = (summary: string): ConfigWarning => ({ summary, details: null, path: null, range: null })

/** Codex's words. */
const INVALID = 'Invalid configuration; using defaults.'
