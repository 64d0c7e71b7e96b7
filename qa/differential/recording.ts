import { readFileSync, writeFileSync } from 'node:fs'

/** One line of a recording, as it stands in a golden. */
export interface Line {
  /** A message of the client or of the server, something outside JSON-RPC, or a plain HTTP exchange. */
  readonly dir: 'c2s' | 's2c' | 'event' | 'http'
  /** Number of the connection, from 1; 0 where there is none. */
  readonly conn: number
  readonly msg: unknown
}

/** Reads a recording: one JSON object a line. */
export function readRecording(path: string): readonly Line[] {
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  return lines.map(line => JSON.parse(line) as Line)
}

/** Writes a recording in the form of the goldens. */
export function writeRecording(path: string, lines: readonly unknown[]): void {
  writeFileSync(path, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
}
