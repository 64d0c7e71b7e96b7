import { GIT_RULES } from './git-grants.ts'
import { type GrantRule, type Taken, takeOptions } from './options.ts'
import { isSensitive } from './sensitive.ts'
import type { ShellWord } from './shell-words.ts'

/**
 * The prefix that a person may allow for a command that does not run unasked; null when it must be asked for every time.
 * A grant covers exactly what yields the same prefix here, so a rule decides both at once. `words` are those of a simple
 * command without redirections.
 */
export function grantablePrefix(words: readonly ShellWord[]): readonly string[] | null {
  const versioned = versionPrefix(words)
  if (versioned) return versioned
  for (const rule of RULES) {
    const prefix = rule.prefix.split(' ')
    const matches = prefix.every((word, i) => words[i]?.bare && words[i].value === word)
    if (matches && fits(rule, words.slice(prefix.length))) return prefix
  }
  return null
}

function fits(rule: GrantRule, rest: readonly ShellWord[]): boolean {
  const taken = takeOptions(rest, rule)
  if (taken === null) return false
  const { operands, values } = taken
  const [least, most] = rule.operands ?? [0, 0]
  if (operands.length < least || operands.length > (most ?? Number.POSITIVE_INFINITY)) return false
  if ([...operands, ...values].some(isSensitive)) return false
  return rule.check?.(taken) ?? true
}

/** Programs that say their version and do nothing else when asked so; the flag belongs to the grant. */
const VERSION_FLAGS: Readonly<Record<string, string>> = {
  bun: '--version -v',
  cargo: '--version -V',
  clang: '--version',
  cmake: '--version',
  deno: '--version -V',
  docker: '--version -v',
  'g++': '--version',
  gcc: '--version',
  gh: '--version',
  git: '--version',
  java: '--version -version',
  javac: '--version -version',
  make: '--version -v',
  node: '--version -v',
  npm: '--version -v',
  perl: '--version -v',
  php: '--version -v',
  pip: '--version -V',
  pip3: '--version -V',
  pnpm: '--version -v',
  python: '--version -V',
  python3: '--version -V',
  ruby: '--version -v',
  rustc: '--version -V',
  yarn: '--version -v',
}

function versionPrefix(words: readonly ShellWord[]): readonly string[] | null {
  const [name, flag, ...rest] = words
  if (!name?.bare || !flag?.bare || rest.length > 0 || !Object.hasOwn(VERSION_FLAGS, name.value)) return null
  return VERSION_FLAGS[name.value]!.split(' ').includes(flag.value) ? [name.value, flag.value] : null
}

const ANY: readonly [number] = [0]

const RULES: readonly GrantRule[] = [
  { prefix: 'touch', flags: 'acm', operands: [1], check: writesNoGit },
  { prefix: 'mkdir', flags: 'pv', long: 'parents verbose', operands: [1], check: writesNoGit },

  ...GIT_RULES,
  {
    prefix: 'npm ls',
    flags: 'agl',
    long: 'all global long json parseable link',
    longValued: 'depth',
    operands: ANY,
    check: hasPlainNames,
  },
  {
    prefix: 'npm list',
    flags: 'agl',
    long: 'all global long json parseable link',
    longValued: 'depth',
    operands: ANY,
    check: hasPlainNames,
  },
  { prefix: 'npm view', long: 'json', operands: [1], check: hasPlainNames },
  { prefix: 'npm outdated', flags: 'agl', long: 'all global long json parseable', operands: ANY, check: hasPlainNames },
  {
    prefix: 'cargo tree',
    flags: 'de',
    valued: 'pi',
    long: 'duplicates all-features no-default-features workspace locked offline frozen no-dedupe',
    longValued: 'depth package invert prefix charset features edges',
  },
  {
    prefix: 'cargo metadata',
    long: 'no-deps all-features no-default-features locked offline frozen',
    longValued: 'format-version features filter-platform',
  },
  { prefix: 'go version' },
  {
    prefix: 'go env',
    long: 'json',
    operands: ANY,
    check: ({ operands }) => operands.every(name => /^[A-Z0-9_]+$/.test(name)),
  },
  { prefix: 'pip show', flags: 'fv', long: 'files verbose', operands: [1], check: hasPlainNames },
  { prefix: 'pip3 show', flags: 'fv', long: 'files verbose', operands: [1], check: hasPlainNames },
  {
    prefix: 'pip list',
    flags: 'oue',
    long: 'outdated uptodate editable user local not-required',
    longValued: 'format',
  },
  {
    prefix: 'pip3 list',
    flags: 'oue',
    long: 'outdated uptodate editable user local not-required',
    longValued: 'format',
  },
  { prefix: 'pip freeze', long: 'all user local exclude-editable' },
  { prefix: 'pip3 freeze', long: 'all user local exclude-editable' },
  ...[
    'pr view',
    'pr list',
    'pr status',
    'pr diff',
    'pr checks',
    'issue view',
    'issue list',
    'issue status',
    'run view',
    'run list',
    'release view',
    'release list',
  ].map(
    (what): GrantRule => ({
      prefix: `gh ${what}`,
      flags: 'c',
      valued: 'LsAlaS',
      long: 'comments patch name-only',
      longValued: 'json limit state author label assignee search head base color workflow branch',
      operands: [0, 1],
      check: hasPlainNames,
    }),
  ),
]

function writesNoGit({ operands }: Taken): boolean {
  return operands.every(path => !path.split('/').some(name => /^\.(git|skein|codex)$/i.test(name)))
}

/** Names and numbers only: no address, no path, nothing that leads elsewhere. */
function hasPlainNames({ operands }: Taken): boolean {
  return operands.every(name => /^(@\w[\w.-]*\/)?\w[\w.-]*(@[\w.^~-]+)?$/.test(name))
}
