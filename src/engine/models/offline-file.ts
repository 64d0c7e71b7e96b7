import { readBounded } from '../settings/bounded-file.ts'
import type { ScriptProblem } from './offline-script.ts'

/** Longest script file, in bytes. */
const MAX_FILE = 1024 * 1024

const HEADING = /^user:(.*)$/

/**
 * The script that the script file at `path` (docs/offline-model.md) has for the user's message `prompt`: what stands
 * below the first `user: TEXT` whose TEXT is in the message. Null when it has none.
 */
export function scriptFor(prompt: string, path: string): string | ScriptProblem | null {
  const found = readBounded(path, MAX_FILE)
  if (found.type === 'absent') return { problem: `there is no script file ${path}` }
  if (found.type === 'unreadable') return { problem: `the script file ${path} cannot be read: ${found.reason}` }
  if (found.truncated) return { problem: `the script file ${path} is larger than ${MAX_FILE} bytes` }
  return below(prompt, found.bytes.toString('utf8').split(/\r?\n/))
}

function below(prompt: string, lines: readonly string[]): string | null {
  const from = lines.findIndex(line => {
    const text = HEADING.exec(line)?.[1]?.trim()
    return text !== undefined && prompt.includes(text)
  })
  if (from < 0) return null
  const script = lines.slice(from + 1)
  const length = script.findIndex(line => HEADING.test(line))
  return (length < 0 ? script : script.slice(0, length)).join('\n')
}
