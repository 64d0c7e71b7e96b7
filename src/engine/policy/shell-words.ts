import { type Command, parse, type Redirect, type Statement, type Word } from 'unbash'

/** One word of a simple command as the shell hands it to the program, and whether it was written without quotes. */
export interface ShellWord {
  readonly value: string
  readonly bare: boolean
}

/** One simple command. */
export interface SimpleCommand {
  readonly words: readonly ShellWord[]
  /** Whether it throws its errors away or sends them along (`2>/dev/null`, `2>&1`). */
  readonly redirected: boolean
  /** Whether it reads what the command before it prints. */
  readonly piped: boolean
}

/** Longer scripts, or of more commands, are nobody's quick look around. */
const MAX_LENGTH = 8_192
const MAX_COMMANDS = 32

/**
 * The simple commands of a script that says nothing but what is plainly there: words without expansion of any kind, joined by
 * `&&`, `||`, `;` and `|`. Null for everything else, and for everything that is not understood with certainty: the answer
 * decides what runs unasked. The parser's tree is checked against the text itself, so that a fault of either makes null.
 */
export function simpleCommands(source: string): readonly SimpleCommand[] | null {
  if (source.length > MAX_LENGTH || !VISIBLE.test(source)) return null
  const tree = parse(source)
  if (tree.errors?.length) return null
  const reader = new Reader(source)
  const plain = tree.commands.every(statement => !statement.background && reader.take(statement.command, false))
  return plain && reader.isComplete() ? reader.commands : null
}

/** Letters, marks, digits, punctuation and symbols of any script, and the blank: no control, no invisible character. */
const VISIBLE = /^[ \p{L}\p{M}\p{N}\p{P}\p{S}]+$/u

class Reader {
  readonly commands: SimpleCommand[] = []
  readonly #source: string
  /** Stretches of the source that were understood, each with what must stand before it. */
  readonly #known: { readonly start: number; readonly end: number; readonly before: RegExp }[] = []

  constructor(source: string) {
    this.#source = source
  }

  take(node: Statement['command'], piped: boolean): boolean {
    switch (node.type) {
      case 'Command':
        return this.#simple(node, piped)
      case 'AndOr':
        return node.commands.every(child => this.take(child, false))
      case 'Pipeline':
        return (
          node.prefixes.length === 0 &&
          node.operators.every(operator => operator === '|') &&
          node.commands.every((child, i) => this.take(child, i > 0))
        )
      default:
        return false
    }
  }

  #simple(command: Command, piped: boolean): boolean {
    if (!command.name || command.prefix.length > 0 || this.commands.length >= MAX_COMMANDS) return false
    const words: ShellWord[] = []
    let redirected = false
    for (const part of [command.name, ...command.suffix]) {
      if (part.type === 'Redirect' && this.#isHarmless(part)) redirected = true
      else {
        const word = part.type === 'Word' ? this.#word(part) : null
        if (word === null) return false
        words.push(word)
      }
      const isName = part === command.name
      const before = !isName ? /^ +$/ : this.commands.length === 0 ? /^ *$/ : /^ *(;|&&|\|\|?) *$/
      this.#known.push({ start: part.pos, end: part.end, before })
    }
    this.commands.push({ words, redirected, piped })
    return true
  }

  #isHarmless(redirect: Redirect): boolean {
    return ['2>/dev/null', '2> /dev/null', '2>&1'].includes(this.#source.slice(redirect.pos, redirect.end))
  }

  #word(word: Word): ShellWord | null {
    const read = readWord(this.#source.slice(word.pos, word.end))
    return read?.value === word.value ? read : null
  }

  /** Whether between what was understood there are only blanks and joints: no comment, no stray sign. */
  isComplete(): boolean {
    let at = 0
    for (const { start, end, before } of this.#known) {
      if (!before.test(this.#source.slice(at, start))) return false
      at = end
    }
    return this.commands.length > 0 && /^ *;? *$/.test(this.#source.slice(at))
  }
}

/** Signs that mean themselves outside of quotes, in every shell we know, wherever in a word they stand. */
const BARE = /^[\p{L}\p{N}_@%+:,./^~=-]+$/u

/** What one word of the source means; null when it is more than plain characters, all bare or all in one pair of quotes. */
function readWord(text: string): ShellWord | null {
  if (BARE.test(text)) return isTilde(text) || text.startsWith('=') ? null : { value: text, bare: true }
  const option = /^(--[a-z-]+=)(['"].*)$/u.exec(text)
  const quoted = option ? option[2]! : text
  const value = readSingle(quoted) ?? readDouble(quoted)
  return value === null ? null : { value: (option?.[1] ?? '') + value, bare: false }
}

/** A tilde at the start of a word, or after `:` or `=`, is somebody's home. */
const isTilde = (text: string): boolean => /(^|[:=])~/.test(text)

const readSingle = (text: string): string | null => /^'([^']*)'$/u.exec(text)?.[1] ?? null

function readDouble(text: string): string | null {
  const inner = /^"((?:[^"\\$`]|\\.)*)"$/u.exec(text)?.[1]
  return inner === undefined ? null : inner.replace(/\\(["\\$`])/g, '$1')
}
