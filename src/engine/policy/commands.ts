import { grantablePrefix } from './grantable.ts'
import { isReadOnly } from './read-only.ts'
import { simpleCommands } from './shell-words.ts'

/** What is known about a command line before it runs. */
export interface Classified {
  /** It surely only reads, so it may run unasked. */
  readonly readOnly: boolean
  /** The first words that a person may allow for the rest of the thread; null when it must be asked for every time. */
  readonly prefix: readonly string[] | null
}

const UNKNOWN: Classified = { readOnly: false, prefix: null }

/**
 * Classifies a command line for a POSIX shell by a positive grammar: only what is written plainly and whose every word is
 * known is anything but "ask, every time". Several commands in one line are read-only when each of them is, and never have
 * a prefix.
 */
export function classify(command: string): Classified {
  const commands = simpleCommands(command)
  if (commands === null) return UNKNOWN
  const readOnly = commands.every(isReadOnly)
  const [only, ...others] = commands
  if (!only || others.length > 0 || only.redirected) return { readOnly, prefix: null }
  return {
    readOnly,
    prefix: readOnly ? readOnlyPrefix(only.words.map(word => word.value)) : grantablePrefix(only.words),
  }
}

/** The program's name; `sed` only reads with its `-n`, which therefore belongs to it. */
function readOnlyPrefix(words: readonly string[]): readonly string[] | null {
  if (words[0] !== 'sed') return words.slice(0, 1)
  return words[1] === '-n' ? ['sed', '-n'] : null
}

/**
 * Whether a grant covers a command: only when the command, looked at by itself, would be offered exactly this prefix. So
 * `find` once allowed never lets `find -delete` through.
 */
export function matchesPrefix(command: string, grant: readonly string[]): boolean {
  const { prefix } = classify(command)
  return prefix !== null && prefix.length === grant.length && prefix.every((word, i) => word === grant[i])
}
