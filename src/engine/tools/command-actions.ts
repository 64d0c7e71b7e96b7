import { resolve } from 'node:path'
import type { CommandAction } from '../items.ts'
import { plainCommands, type Words } from './command-words.ts'
import { joinWords } from './quote.ts'

/**
 * What a command line does, so that a client can write "Read a.txt" instead of the command. Follows codex: the reading,
 * listing or searching commands of a line with its mere formatting (`| head`) left away, or the whole line as one unknown
 * action as soon as one part is not understood. For display only; nothing is ever allowed because of it.
 */
export function commandActions(command: string, cwd: string): readonly CommandAction[] {
  const commands = plainCommands(command)
  const main = commands?.filter(words => !isFormatting(words)) ?? []
  const actions = dropUseless(summaries(main, cwd), main.length > 1)
  if (actions.length === 0 || actions.some(action => action.type === 'unknown')) return [{ type: 'unknown', command }]
  const unique = actions.filter((action, i) => i === 0 || JSON.stringify(action) !== JSON.stringify(actions[i - 1]))
  const only = unique[0]!
  // `cat f | sed -n 1,9p` reads a part of f: the range is worth showing.
  if (unique.length === 1 && only.type === 'read' && readsRange(command, commands ?? [])) return [{ ...only, command }]
  return unique
}

function summaries(commands: readonly Words[], cwd: string): readonly CommandAction[] {
  const actions: CommandAction[] = []
  let folder = cwd
  for (const words of commands) {
    if (words[0] === 'cd') folder = resolve(folder, cdTarget(words.slice(1)) ?? '.')
    else actions.push(summarise(words, folder))
  }
  return actions
}

function cdTarget(args: Words): string | undefined {
  const end = args.indexOf('--')
  return end >= 0 ? args[end + 1] : args.findLast(arg => !arg.startsWith('-'))
}

/** Parts that say nothing about a longer line: `true`, a leading `echo`, a bare `nl -ba`. */
function dropUseless(actions: readonly CommandAction[], several: boolean): readonly CommandAction[] {
  if (!several) return actions
  const kept = actions.filter(({ type, command }) => type !== 'unknown' || !/^(true|nl( -\S*)*)$/.test(command))
  const first = kept.findIndex(({ type, command }) => type !== 'unknown' || !/^echo( |$)/.test(command))
  return first > 0 ? kept.slice(first) : kept
}

function readsRange(command: string, commands: readonly Words[]): boolean {
  return commands.length > 1 && command.includes('|') && commands.some(words => words[0] === 'sed' && words[1] === '-n')
}

/** Whether a command only shapes the output of others. */
function isFormatting(words: Words): boolean {
  const [name, ...args] = words
  switch (name) {
    case 'wc':
    case 'tr':
    case 'cut':
    case 'sort':
    case 'uniq':
    case 'tee':
    case 'column':
    case 'yes':
    case 'printf':
      return true
    case 'xargs':
      return !args.some(arg => /^-(p?i|-in-place|-replace)/.test(arg))
    case 'head':
    case 'tail':
      return args.length === 0 || (args.length === 1 && args[0]!.startsWith('-')) || isCountOnly(args)
    case 'awk':
      return awkFile(args) === undefined
    case 'sed':
      return sedFile(args) === undefined
    default:
      return false
  }
}

const isCountOnly = (args: Words): boolean => args.length === 2 && /^-[nc]$/.test(args[0]!) && /^\+?\d+$/.test(args[1]!)

/** Options that take the next word as their value, per command. */
const VALUED: Readonly<Record<string, readonly string[]>> = {
  ls: ['-I', '-w', '--block-size', '--format', '--time-style', '--color', '--quoting-style'],
  eza: ['-I', '--ignore-glob', '--color', '--sort', '--time-style', '--time'],
  exa: ['-I', '--ignore-glob', '--color', '--sort', '--time-style', '--time'],
  tree: ['-L', '-P', '-I', '--charset', '--filelimit', '--sort'],
  du: ['-d', '--max-depth', '-B', '--block-size', '--exclude', '--time-style'],
  rg: '-g --glob --iglob -t --type --type-add --type-not -m --max-count -A -B -C --context --max-depth'.split(' '),
  grep: '-m --max-count -C --context -A --after-context -B --before-context'.split(' '),
  fd: ['-t', '--type', '-e', '--extension', '-E', '--exclude', '--search-path'],
  ag: ['-G', '-g', '--file-search-regex', '--ignore-dir', '--ignore-file', '--path-to-ignore'],
  bat: '--theme --language --style --terminal-width --tabs --line-range --map-syntax'.split(' '),
  less: '-p -P -x -y -z -j --pattern --prompt --tabs --shift --jump-target'.split(' '),
  nl: ['-s', '-w', '-v', '-i', '-b'],
  sed: ['-e', '-f', '--expression', '--file'],
  awk: ['-F', '-v', '-f', '--field-separator', '--assign', '--file'],
  'ls-files': ['--exclude', '--exclude-from', '--pathspec-from-file'],
}

const operands = (args: Words, kind: string): Words => splitOptions(args, VALUED[kind] ?? []).operands

function splitOptions(
  args: Words,
  valued: Words,
): { readonly operands: Words; readonly values: ReadonlyMap<string, string> } {
  const found: string[] = []
  const values = new Map<string, string>()
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    if (arg === '--') return { operands: [...found, ...args.slice(i + 1)], values }
    if (valued.includes(arg)) values.set(arg, args[++i] ?? '')
    else if (!arg.startsWith('-')) found.push(arg)
  }
  return { operands: found, values }
}

function summarise(words: Words, folder: string): CommandAction {
  const [name, ...args] = words
  switch (name) {
    case 'ls':
    case 'eza':
    case 'exa':
    case 'tree':
    case 'du':
      return list(words, operands(args, name)[0])
    case 'rg':
    case 'rga':
    case 'ripgrep-all':
      return args.includes('--files') ? list(words, operands(args, 'rg')[0]) : search(words, operands(args, 'rg'))
    case 'grep':
    case 'egrep':
    case 'fgrep':
      return grep(words, args)
    case 'ag':
    case 'ack':
    case 'pt':
      return search(words, operands(args, 'ag'))
    case 'git':
      return git(words, args)
    case 'fd':
      return fd(words, operands(args, 'fd'))
    case 'find':
      return find(words, args)
    default:
      return read(words, folder)
  }
}

const unknown = (words: Words): CommandAction => ({ type: 'unknown', command: joinWords(words) })

const list = (words: Words, path: string | undefined): CommandAction => ({
  type: 'list',
  command: joinWords(words),
  path: path === undefined ? null : shortPath(path),
})

function search(words: Words, [query, path]: Words): CommandAction {
  return {
    type: 'search',
    command: joinWords(words),
    query: query ?? null,
    path: path === undefined ? null : shortPath(path),
  }
}

function grep(words: Words, args: Words): CommandAction {
  const patterns = ['-e', '--regexp', '-f', '--file']
  const { operands, values } = splitOptions(args, [...VALUED.grep!, ...patterns])
  const pattern = patterns.map(option => values.get(option)).find(value => value !== undefined)
  return search(words, pattern === undefined ? operands : [pattern, ...operands])
}

function git(words: Words, [subcommand, ...args]: Words): CommandAction {
  if (subcommand === 'grep') return grep(words, args)
  return subcommand === 'ls-files' ? list(words, operands(args, 'ls-files')[0]) : unknown(words)
}

function fd(words: Words, [first, second]: Words): CommandAction {
  if (first === undefined) return list(words, undefined)
  const isPath = second === undefined && /^\.{1,2}$|\//.test(first)
  return isPath ? list(words, first) : search(words, second === undefined ? [first] : [first, second])
}

function find(words: Words, args: Words): CommandAction {
  const path = args.find(arg => !/^(-.*|[!()])$/.test(arg))
  const test = args.findIndex(arg => /^-(i?name|path|regex)$/.test(arg))
  const query = test < 0 ? undefined : args[test + 1]
  if (query === undefined) return list(words, path)
  return search(words, path === undefined ? [query] : [query, path])
}

function read(words: Words, folder: string): CommandAction {
  const path = readFile(words)
  if (path === undefined) return unknown(words)
  return { type: 'read', command: joinWords(words), name: shortPath(path), path: resolve(folder, path) }
}

function readFile([name, ...args]: Words): string | undefined {
  switch (name) {
    case 'cat':
    case 'more':
    case 'less':
      return only(operands(args, name))
    case 'bat':
    case 'batcat':
      return only(operands(args, 'bat'))
    case 'nl':
      return operands(args, 'nl')[0]
    case 'head':
      return countedFile(args, /^\d+$/)
    case 'tail':
      return countedFile(args, /^\+?\d+$/)
    case 'sed':
      return sedFile(args)
    case 'awk':
      return awkFile(args)
    default:
      return undefined
  }
}

const only = (words: Words): string | undefined => (words.length === 1 ? words[0] : undefined)

/** The file of `head -n 5 f`, `head -n5 f` or `head f`. */
function countedFile(args: Words, count: RegExp): string | undefined {
  const [first, second] = args
  if (first === '-n' && second !== undefined && count.test(second))
    return args.slice(2).find(arg => !arg.startsWith('-'))
  if (first?.startsWith('-n') && count.test(first.slice(2))) return args.slice(1).find(arg => !arg.startsWith('-'))
  return args.length === 1 && !first!.startsWith('-') ? first : undefined
}

const isRange = (text: string | undefined): boolean => text !== undefined && /^\d+(,\d+)?p$/.test(text)

/** The file of `sed -n 1,9p f`, however its range is given. */
function sedFile(args: Words): string | undefined {
  const { operands, values } = splitOptions(args, VALUED.sed!)
  const given = isRange(values.get('-e')) || isRange(values.get('--expression'))
  if (!args.includes('-n') || !(given || operands.some(isRange))) return undefined
  return isRange(operands[0]) ? operands[1] : operands[0]
}

function awkFile(args: Words): string | undefined {
  const { operands, values } = splitOptions(args, VALUED.awk!)
  return values.has('-f') || values.has('--file') ? operands[0] : operands[1]
}

/** The part of a path that a person knows it by: its last name that is not just `src`, `dist` and the like. */
function shortPath(path: string): string {
  const trimmed = path.replaceAll('\\', '/').replace(/\/+$/, '')
  return trimmed.split('/').findLast(name => !['', 'build', 'dist', 'node_modules', 'src'].includes(name)) ?? trimmed
}
