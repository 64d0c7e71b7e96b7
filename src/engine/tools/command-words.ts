import { type Command, parse, type Statement, type Word } from 'unbash'

/** A simple command as its words, quotes taken off. */
export type Words = readonly string[]

/**
 * The simple commands of a script, in order, when it is nothing but plain words joined by `&&`, `||`, `;` and `|`. Null for
 * anything else: expansions, redirections, groups, loops, background jobs, and whatever does not parse. For showing only:
 * what may run unasked is decided by `policy/`, which is stricter.
 */
export function plainCommands(script: string): readonly Words[] | null {
  const tree = parse(script)
  if (tree.errors?.length) return null
  const found: Words[] = []
  for (const statement of tree.commands) {
    if (statement.background || !collect(statement.command, found)) return null
  }
  return found.length > 0 ? found : null
}

function collect(node: Statement['command'], into: Words[]): boolean {
  switch (node.type) {
    case 'Command': {
      const words = wordsOf(node)
      if (words) into.push(words)
      return words !== null
    }
    case 'AndOr':
      return node.commands.every(child => collect(child, into))
    case 'Pipeline':
      return node.prefixes.length === 0 && node.commands.every(child => collect(child, into))
    default:
      return false
  }
}

function wordsOf(command: Command): Words | null {
  if (!command.name || command.prefix.length > 0) return null
  const words = [command.name, ...command.suffix]
  return words.every(isPlain) ? words.map(word => word.value) : null
}

function isPlain(word: Word | Command['suffix'][number]): word is Word {
  return word.type === 'Word' && (word.parts ?? []).every(isPlainPart)
}

type Part = NonNullable<Word['parts']>[number]

function isPlainPart(part: Part): boolean {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'Glob':
      return true
    case 'DoubleQuoted':
      return part.parts.every(isPlainPart)
    default:
      return false
  }
}
