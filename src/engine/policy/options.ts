import type { ShellWord } from './shell-words.ts'

/** The options that a command may have. Every other one makes the command unknown. */
export interface OptionTable {
  /** Letters of short options without a value; they may be bundled. */
  readonly flags?: string
  /** Letters of short options with a value, in the same word or in the next. */
  readonly valued?: string
  /** Long options without a value. */
  readonly long?: string
  /** Long options with a value, after `=` or in the next word. */
  readonly longValued?: string
  /** Long options whose value, if any, must stand after `=`. */
  readonly longOptional?: string
  /** Whether `-20` is an option. */
  readonly count?: boolean
}

/** A command line taken apart. */
export interface Taken {
  readonly operands: readonly string[]
  /** All values of options, for a look at what they name. */
  readonly values: readonly string[]
  readonly names: ReadonlySet<string>
}

/** A command that may be allowed for the rest of a thread, with all its arguments that this rule lets through. */
export interface GrantRule extends OptionTable {
  /** Its first words: the grant. */
  readonly prefix: string
  /** Least and most operands; none at all when left out. */
  readonly operands?: readonly [number, number?]
  readonly check?: (taken: Taken) => boolean
}

/** Takes the words after a command's name apart; null when one of them is an option that is not in the table. */
export function takeOptions(words: readonly ShellWord[], table: OptionTable): Taken | null {
  return new Taker(words, table).take()
}

class Taker {
  readonly #words: readonly ShellWord[]
  readonly #table: OptionTable
  readonly #operands: string[] = []
  readonly #values: string[] = []
  readonly #names = new Set<string>()
  #at = 0

  constructor(words: readonly ShellWord[], table: OptionTable) {
    this.#words = words
    this.#table = table
  }

  take(): Taken | null {
    while (this.#at < this.#words.length) {
      const word = this.#words[this.#at++]!.value
      if (word === '--') {
        this.#operands.push(...this.#words.slice(this.#at).map(rest => rest.value))
        break
      }
      if (!this.#one(word)) return null
    }
    return { operands: this.#operands, values: this.#values, names: this.#names }
  }

  #one(word: string): boolean {
    if (word.startsWith('--')) return this.#long(word)
    if (!word.startsWith('-') || word === '-') return this.#operands.push(word) > 0
    if (this.#table.count && /^-\d+$/.test(word)) return true
    return this.#short(word.slice(1))
  }

  #short(letters: string): boolean {
    for (let i = 0; i < letters.length; i++) {
      const letter = letters[i]!
      this.#names.add(`-${letter}`)
      if (this.#table.flags?.includes(letter)) continue
      if (!this.#table.valued?.includes(letter)) return false
      return this.#value(letters.slice(i + 1) || this.#next())
    }
    return true
  }

  #long(word: string): boolean {
    const at = word.indexOf('=')
    const name = at < 0 ? word.slice(2) : word.slice(2, at)
    const value = at < 0 ? null : word.slice(at + 1)
    this.#names.add(`--${name}`)
    if (value === null && has(this.#table.long, name)) return true
    if (has(this.#table.longOptional, name)) return value === null || this.#value(value)
    return has(this.#table.longValued, name) && this.#value(value ?? this.#next())
  }

  #next(): string | undefined {
    return this.#words[this.#at++]?.value
  }

  #value(value: string | undefined): boolean {
    if (value === undefined) return false
    this.#values.push(value)
    return true
  }
}

const has = (names: string | undefined, name: string): boolean => names?.split(' ').includes(name) ?? false
