import { type OptionTable, type Taken, takeOptions } from './options.ts'
import { isSensitive, staysInside } from './sensitive.ts'
import type { SimpleCommand } from './shell-words.ts'

/** What a command that only reads may look like. */
interface Rule extends OptionTable {
  /** Least and most operands; without a most any number. */
  readonly operands?: readonly [number, number?]
  /** Operands that it takes to name a file; with fewer it reads its input, which is fine behind a pipe only. */
  readonly files?: number | ((taken: Taken) => number)
  /** What of it names files that it reads or lists; every operand and value when left out. */
  readonly paths?: (taken: Taken) => readonly string[]
  readonly check?: (taken: Taken) => boolean
}

/** Whether a simple command surely only reads, ends by itself, and reads nothing that should be asked for. */
export function isReadOnly(command: SimpleCommand): boolean {
  const [name, ...rest] = command.words
  if (!name?.bare || !Object.hasOwn(RULES, name.value)) return false
  const rule = RULES[name.value]!
  const taken = name.value === 'find' ? takeFind(rest.map(word => word.value)) : takeOptions(rest, rule)
  if (taken === null) return false
  const paths = rule.paths?.(taken) ?? [...taken.operands, ...taken.values]
  if (!hasEnough(rule, taken, command.piped) || paths.some(isSensitive)) return false
  return rule.check?.(taken) ?? true
}

function hasEnough(rule: Rule, taken: Taken, piped: boolean): boolean {
  const [least, most] = rule.operands ?? [0]
  const count = taken.operands.length
  if (count < least || count > (most ?? Number.POSITIVE_INFINITY)) return false
  if (piped || rule.files === undefined) return true
  const files = typeof rule.files === 'number' ? rule.files : rule.files(taken)
  return count >= files && !taken.operands.includes('-')
}

const none = (): readonly string[] => []

const NUMBER = /^\d{1,6}$/

/** Output that a terminal could take for orders: `echo` and others turn these into control characters. */
const hasEscape = ({ operands }: Taken): boolean => operands.some(text => text.includes('\\'))

const hasPattern = ({ names }: Taken): boolean => names.has('-e') || names.has('--regexp')

const isRecursive = ({ names }: Taken): boolean =>
  ['-r', '-R', '--recursive', '--dereference-recursive'].some(name => names.has(name))

/** The operands of a search that are files, not the pattern. */
const searched = (taken: Taken): readonly string[] => taken.operands.slice(hasPattern(taken) ? 0 : 1)

const GREP: Rule = {
  flags: 'abchiHlLnoqrRsvwxyzEFGPIT',
  valued: 'eABCm',
  long: 'ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match only-matching quiet silent no-messages byte-offset with-filename no-filename line-number null text recursive dereference-recursive extended-regexp fixed-strings basic-regexp perl-regexp no-ignore-case',
  longValued: 'regexp max-count after-context before-context context include exclude exclude-dir',
  longOptional: 'color colour binary-files',
  count: true,
  files: taken => (hasPattern(taken) ? 0 : 1) + (isRecursive(taken) ? 0 : 1),
  paths: searched,
  check: taken =>
    (hasPattern(taken) || taken.operands.length > 0) && (!isRecursive(taken) || searched(taken).every(staysInside)),
}

/** Whether ripgrep needs no pattern among its operands. */
const rgHasAll = (taken: Taken): boolean =>
  hasPattern(taken) || taken.names.has('--files') || taken.names.has('--type-list')

const rgSearched = (taken: Taken): readonly string[] => taken.operands.slice(rgHasAll(taken) ? 0 : 1)

const CHECKSUM: Rule = { flags: 'btz', long: 'binary text tag zero', files: 1 }

/**
 * The commands that run unasked. What is not here asks: a program may be harmless, but somebody has to have looked at every
 * option of it. Git is not here: repositories bring settings that make it run programs.
 */
const RULES: Readonly<Record<string, Rule>> = {
  true: { operands: [0, 0] },
  false: { operands: [0, 0] },
  pwd: { flags: 'LP', operands: [0, 0] },
  echo: { flags: 'n', paths: none, check: taken => !hasEscape(taken) },
  printf: {
    operands: [1],
    paths: none,
    // A format of plain words, `%s`, `%d` and line ends: nothing that a terminal could take for an order.
    check: ({ operands: [format = '', ...rest], ...taken }) =>
      /^([^%\\]|%[%ds]|\\[nt])*$/.test(format) && !hasEscape({ ...taken, operands: rest }),
  },
  which: { flags: 'a', operands: [1], paths: none },
  type: { flags: 'atpP', operands: [1], paths: none },
  whoami: { operands: [0, 0] },
  id: { flags: 'gGnru', operands: [0, 1], paths: none },
  groups: { operands: [0, 1], paths: none },
  uname: { flags: 'asnrvmpio', long: 'all', operands: [0, 0] },
  arch: { operands: [0, 0] },
  nproc: { long: 'all', operands: [0, 0] },
  hostname: { flags: 's', operands: [0, 0] },
  date: {
    flags: 'uR',
    valued: 'd',
    long: 'utc universal',
    longValued: 'date',
    longOptional: 'iso-8601 rfc-3339',
    operands: [0, 1],
    paths: none,
    check: ({ operands }) => operands.every(format => format.startsWith('+')),
  },
  ls: {
    flags: 'aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxX1Z',
    valued: 'ITw',
    long: 'all almost-all author directory human-readable inode kibibytes numeric-uid-gid no-group recursive reverse size dereference full-time group-directories-first si zero',
    longValued: 'block-size format hide ignore quoting-style sort time time-style width',
    longOptional: 'color classify hyperlink',
  },
  cat: {
    flags: 'AbeEnstTuv',
    long: 'number number-nonblank squeeze-blank show-all show-ends show-tabs show-nonprinting',
    files: 1,
  },
  head: { flags: 'qvz', valued: 'nc', long: 'quiet silent verbose', longValued: 'lines bytes', count: true, files: 1 },
  tail: { flags: 'qvz', valued: 'nc', long: 'quiet silent verbose', longValued: 'lines bytes', count: true, files: 1 },
  wc: { flags: 'clmLw', long: 'bytes chars lines words max-line-length', files: 1 },
  nl: { valued: 'bdfhilnsvw', flags: 'p', longValued: 'body-numbering number-width number-format', files: 1 },
  tac: { files: 1 },
  rev: { files: 1 },
  cut: {
    flags: 'sn',
    valued: 'bcdf',
    long: 'complement only-delimited',
    longValued: 'bytes characters delimiter fields output-delimiter',
    files: 1,
  },
  paste: { flags: 'sz', valued: 'd', files: 1 },
  tr: { flags: 'cCdst', operands: [1, 2], files: 99, paths: none },
  fold: { flags: 'bs', valued: 'w', files: 1 },
  expand: { flags: 'i', valued: 't', files: 1 },
  unexpand: { flags: 'a', valued: 't', files: 1 },
  column: { flags: 'tx', valued: 'sc', files: 1 },
  comm: { flags: '123', operands: [2, 2] },
  join: { valued: '12jtaeo', flags: 'i', operands: [2, 2] },
  sort: {
    flags: 'bdfghiMnRrVuzcCs',
    valued: 'kt',
    long: 'reverse unique numeric-sort human-numeric-sort version-sort ignore-case stable check',
    longValued: 'key field-separator',
    files: 1,
  },
  uniq: {
    flags: 'cdDiuz',
    valued: 'fsw',
    long: 'count repeated unique ignore-case',
    operands: [0, 1],
    files: 1,
  },
  cmp: { flags: 'bls', valued: 'in', long: 'silent quiet print-bytes verbose', operands: [2, 2] },
  diff: {
    flags: 'abBcdeEiNnpqrstTuwyZ',
    valued: 'CUxIW',
    long: 'brief recursive unified side-by-side ignore-case ignore-all-space ignore-space-change ignore-blank-lines new-file text minimal report-identical-files no-dereference suppress-common-lines strip-trailing-cr',
    longValued: 'exclude width',
    longOptional: 'color unified context',
    operands: [2, 2],
  },
  cksum: CHECKSUM,
  md5sum: CHECKSUM,
  sha1sum: CHECKSUM,
  sha224sum: CHECKSUM,
  sha256sum: CHECKSUM,
  sha384sum: CHECKSUM,
  sha512sum: CHECKSUM,
  b2sum: CHECKSUM,
  sum: CHECKSUM,
  base64: { flags: 'di', valued: 'w', long: 'decode ignore-garbage', longValued: 'wrap', operands: [0, 1], files: 1 },
  base32: { flags: 'di', valued: 'w', long: 'decode ignore-garbage', longValued: 'wrap', operands: [0, 1], files: 1 },
  od: { flags: 'abcdfhiloxv', valued: 'AjNtw', files: 1 },
  hexdump: { flags: 'bcCdovx', valued: 'ns', files: 1 },
  xxd: { flags: 'abciupE', valued: 'clgso', operands: [0, 1], files: 1 },
  strings: {
    flags: 'a',
    valued: 'nt',
    files: 1,
    // `@file` would be read as more options.
    check: ({ operands }) => !operands.some(name => name.startsWith('@')),
  },
  file: {
    flags: 'bhiLNr0',
    long: 'brief mime mime-type mime-encoding dereference no-dereference extension',
    operands: [1],
  },
  stat: { flags: 'Ltfx', valued: 'c', long: 'terse dereference file-system', longValued: 'format', operands: [1] },
  readlink: {
    flags: 'efmnqsvz',
    long: 'canonicalize canonicalize-existing canonicalize-missing no-newline',
    operands: [1],
  },
  realpath: {
    flags: 'emLPqsz',
    long: 'canonicalize-existing canonicalize-missing strip no-symlinks quiet',
    longValued: 'relative-to relative-base',
    operands: [1],
  },
  basename: { flags: 'az', valued: 's', long: 'multiple', longValued: 'suffix', operands: [1], paths: none },
  dirname: { flags: 'z', operands: [1], paths: none },
  du: {
    flags: 'abchHkLlmPsSx0',
    valued: 'dBt',
    long: 'all apparent-size bytes total human-readable summarize si one-file-system',
    longValued: 'max-depth exclude block-size',
  },
  df: {
    flags: 'aThHiklPx',
    valued: 'Bt',
    long: 'all human-readable inodes portability print-type',
    longValued: 'type',
  },
  tree: {
    flags: 'adfFghiNpqrsStuvDCA',
    valued: 'LIP',
    long: 'noreport dirsfirst du gitignore prune inodes device',
    longValued: 'filelimit sort charset',
  },
  // One question about one file or word: comparisons of numbers are calculated by some shells.
  test: { flags: 'defhLrswxnz', operands: [1, 1], check: ({ names }) => names.size === 1 },
  seq: {
    valued: 's',
    flags: 'w',
    operands: [1, 3],
    paths: none,
    check: ({ operands }) => operands.every(n => NUMBER.test(n)),
  },
  sed: {
    flags: 'n',
    operands: [1],
    files: 2,
    check: ({ names, operands }) => names.has('-n') && isPrintScript(operands[0] ?? ''),
  },
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  rg: {
    flags: 'cFiHhIlnNopPqsSvwxU0',
    valued: 'ABCegmtTjMEr',
    long: 'files ignore-case smart-case case-sensitive count count-matches files-with-matches files-without-match fixed-strings line-number no-line-number no-heading heading only-matching invert-match word-regexp line-regexp multiline multiline-dotall pcre2 quiet stats vimgrep json trim type-list no-filename with-filename no-messages column null crlf text',
    longValued:
      'after-context before-context context glob iglob max-count max-depth max-columns max-filesize type type-not regexp replace sort sortr threads encoding engine',
    longOptional: 'color colors',
    paths: taken => [...rgSearched(taken), ...taken.values],
    check: taken =>
      (rgHasAll(taken) || taken.operands.length > 0) &&
      rgSearched(taken).every(staysInside) &&
      // A glob that names hidden files finds them, whatever else is said.
      !taken.values.some(value => /(^|[!/])\./.test(value)),
  },
  find: { paths: ({ operands }) => operands },
}

/** The only sed scripts that are known to do nothing but print: line numbers, ranges and plain patterns, with `p`. */
function isPrintScript(script: string): boolean {
  const address = String.raw`(\d+|\$|/[\w .:-]+/)`
  return new RegExp(`^${address}(,${address})?p(;${address}(,${address})?p)*$`).test(script)
}

const FIND_TESTS = new Set(
  '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -user -group -perm -links -inum -lname -ilname'.split(
    ' ',
  ),
)
const FIND_FLAGS = new Set(
  '-H -L -P -a -o -and -or -not ! -print -print0 -prune -empty -depth -mount -xdev -daystart -readable -writable -executable -true -false -quit -ls -noleaf'.split(
    ' ',
  ),
)

/** `find` has tests instead of options; what acts on files (`-delete`, `-exec`, `-fprint`) is not among the known ones. */
function takeFind(words: readonly string[]): Taken | null {
  const operands: string[] = []
  const values: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (FIND_TESTS.has(word)) {
      const value = words[++i]
      if (value === undefined) return null
      values.push(value)
    } else if (!FIND_FLAGS.has(word)) {
      if (/^[-(),!]/.test(word)) return null
      operands.push(word)
    }
  }
  return { operands, values, names: new Set() }
}
