import { type Command, parse, type Word } from 'unbash'
import { plainCommands } from './command-words.ts'

/** A patch that a model gives to a shell instead of to the tool. */
export interface ShellPatch {
  readonly patch: string
  /** Folder to apply it in, relative to the command's; null for the command's own. */
  readonly folder: string | null
}

const NAMES = ['apply_patch', 'applypatch']

/**
 * Finds the patch in `apply_patch <<'EOF' ...`, `cd folder && apply_patch <<'EOF' ...` or `apply_patch '...'`, when that is
 * all the script does. Null for every other script, which then runs as it is.
 */
export function shellPatch(script: string): ShellPatch | null {
  if (!/^\s*(cd\s|apply_?patch\s)/.test(script)) return null
  const tree = parse(script)
  const [statement, ...others] = tree.commands
  if (tree.errors?.length || !statement || statement.background || others.length > 0) return null
  const { command } = statement
  if (command.type === 'Command') return patchOf(command, null)
  if (command.type !== 'AndOr' || command.commands.length !== 2 || command.operators[0] !== '&&') return null
  const [first, second] = command.commands
  const folder = first?.type === 'Command' ? folderOf(script.slice(first.pos, first.end)) : null
  return folder !== null && second?.type === 'Command' ? patchOf(second, folder) : null
}

function patchOf(command: Command, folder: string | null): ShellPatch | null {
  const [only, ...others] = command.suffix
  if (!NAMES.includes(command.name?.text ?? '') || command.prefix.length > 0 || !only || others.length > 0) return null
  if (only.type === 'HereDoc') return { patch: only.body.text, folder }
  return only.type === 'Word' && isQuoted(only) ? { patch: only.value, folder } : null
}

function isQuoted(word: Word): boolean {
  const [part, ...others] = word.parts ?? []
  if (!part || others.length > 0) return false
  return part.type === 'SingleQuoted' || (part.type === 'DoubleQuoted' && part.parts.every(p => p.type === 'Literal'))
}

function folderOf(script: string): string | null {
  const [words, ...others] = plainCommands(script) ?? []
  const [name, folder, ...rest] = words ?? []
  return others.length === 0 && name === 'cd' && rest.length === 0 ? (folder ?? null) : null
}
