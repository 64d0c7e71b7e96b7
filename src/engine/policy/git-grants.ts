import type { GrantRule, OptionTable, Taken } from './options.ts'

const ANY: readonly [number] = [0]

/** Options of git's commands that show changes. None of them runs a program, writes a file or reads outside. */
const DIFF: OptionTable = {
  flags: 'abBCDMpqRswuz',
  valued: 'USG',
  long: 'stat shortstat numstat dirstat summary name-only name-status cached staged check patch no-patch patch-with-stat raw minimal patience histogram ignore-all-space ignore-space-change ignore-space-at-eol ignore-blank-lines word-diff color-words no-color no-ext-diff no-textconv exit-code quiet text full-index binary no-renames pickaxe-regex function-context no-prefix merge-base',
  longValued: 'unified diff-filter diff-algorithm inter-hunk-context',
  longOptional: 'color stat word-diff find-renames find-copies abbrev ignore-submodules submodule',
}

const LOG: OptionTable = {
  flags: `${DIFF.flags}gicEFP`,
  valued: `${DIFF.valued}nL`,
  long: `${DIFF.long} oneline graph all branches tags remotes merges no-merges reverse first-parent follow decorate no-decorate abbrev-commit no-abbrev-commit left-right cherry-pick topo-order date-order author-date-order walk-reflogs no-walk full-history simplify-by-decoration regexp-ignore-case invert-grep source parents children relative-date`,
  longValued: `${DIFF.longValued} max-count skip since after until before author committer grep date`,
  longOptional: `${DIFF.longOptional} format pretty decorate abbrev-commit branches tags remotes`,
  count: true,
}

/** A name of a remote or a branch; never an address or a refspec, which could run a program or move branches. */
const isRefName = (name: string): boolean => /^[\w][\w./-]*$/.test(name) && !name.includes('..')

/** Whether nothing named lies plainly outside of the repository: there git compares any two files. */
const staysHome = ({ operands }: Taken): boolean =>
  operands.every(name => !name.startsWith('/') && !name.split('/').includes('..'))

/**
 * What of git may be allowed by its first words. None of it loses work, moves a branch, starts an editor or pager or takes a
 * program from its arguments; the settings of a repository can still make some of it run programs, which is why even
 * `git status` asks once.
 */
export const GIT_RULES: readonly GrantRule[] = [
  {
    prefix: 'git status',
    flags: 'sbvz',
    long: 'short branch show-stash long verbose ahead-behind no-ahead-behind renames no-renames',
    longOptional: 'porcelain untracked-files ignored ignore-submodules',
    valued: 'u',
    operands: ANY,
  },
  { prefix: 'git diff', ...DIFF, operands: ANY, check: staysHome },
  { prefix: 'git log', ...LOG, operands: ANY, check: staysHome },
  { prefix: 'git show', ...LOG, operands: ANY, check: staysHome },
  {
    prefix: 'git shortlog',
    flags: 'sne',
    long: 'summary numbered email all no-merges',
    longValued: 'since until author',
    operands: ANY,
  },
  {
    prefix: 'git blame',
    flags: 'lestwfcnCM',
    valued: 'L',
    long: 'porcelain line-porcelain show-email show-name show-number root',
    longOptional: 'abbrev date',
    operands: [1],
    check: staysHome,
  },
  {
    prefix: 'git grep',
    flags: 'abchiHlLnoqvwEFGPIWpz',
    valued: 'ABCem',
    long: 'cached untracked ignore-case word-regexp count files-with-matches files-without-match name-only line-number column extended-regexp fixed-strings perl-regexp heading break show-function function-context and or not all-match quiet',
    longValued: 'max-depth threads',
    longOptional: 'color',
    operands: ANY,
    check: staysHome,
  },
  {
    prefix: 'git rev-parse',
    flags: 'q',
    long: 'verify quiet short symbolic symbolic-full-name abbrev-ref show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository all branches tags remotes',
    longOptional: 'short abbrev-ref branches tags remotes',
    operands: ANY,
  },
  {
    prefix: 'git rev-list',
    valued: 'n',
    long: 'all count merges no-merges first-parent reverse left-right objects',
    longValued: 'max-count since until author',
    count: true,
    operands: [0],
  },
  {
    prefix: 'git ls-files',
    flags: 'cdmoiskuvtzf',
    valued: 'xX',
    long: 'cached deleted modified others ignored stage directory no-empty-directory unmerged killed exclude-standard full-name error-unmatch deduplicate',
    longValued: 'exclude',
    operands: ANY,
    check: staysHome,
  },
  {
    prefix: 'git ls-tree',
    flags: 'drtlz',
    long: 'long name-only name-status full-name full-tree',
    longOptional: 'abbrev',
    operands: [1],
  },
  { prefix: 'git cat-file', flags: 'tsep', operands: [1, 2] },
  {
    prefix: 'git describe',
    long: 'all tags always long contains exact-match first-parent',
    longValued: 'match exclude candidates',
    longOptional: 'dirty broken abbrev',
    operands: ANY,
  },
  { prefix: 'git merge-base', flags: 'a', long: 'all octopus is-ancestor fork-point independent', operands: [1] },
  { prefix: 'git name-rev', long: 'tags name-only all', operands: ANY },
  {
    prefix: 'git show-ref',
    flags: 'dqs',
    long: 'head heads branches tags dereference verify quiet',
    longOptional: 'hash abbrev',
    operands: ANY,
  },
  { prefix: 'git for-each-ref', longValued: 'count sort format contains merged no-merged points-at', operands: ANY },
  { prefix: 'git count-objects', flags: 'vH', long: 'verbose human-readable' },
  {
    prefix: 'git branch',
    flags: 'arv',
    long: 'show-current all remotes list verbose no-color ignore-case',
    longValued: 'sort format',
    longOptional: 'contains no-contains merged no-merged points-at color column abbrev',
    check: ({ names }) => !names.has('--list'),
  },
  { prefix: 'git branch', flags: 'arv', long: 'list', operands: ANY, check: ({ names }) => names.has('--list') },
  {
    prefix: 'git tag',
    flags: 'ln',
    long: 'list',
    longValued: 'sort format',
    longOptional: 'contains no-contains merged no-merged points-at column',
    check: ({ names }) => !names.has('--list') && !names.has('-l'),
  },
  {
    prefix: 'git tag',
    flags: 'l',
    long: 'list',
    longValued: 'sort format',
    operands: ANY,
    check: ({ names }) => names.has('--list') || names.has('-l'),
  },
  { prefix: 'git remote -v' },
  { prefix: 'git worktree list', flags: 'vz', long: 'porcelain verbose' },
  { prefix: 'git stash list', ...LOG },
  { prefix: 'git stash show', ...DIFF, operands: [0, 1], check: staysHome },
  { prefix: 'git reflog show', ...LOG, operands: ANY, check: staysHome },
  {
    prefix: 'git fetch',
    flags: 'apqtvn',
    long: 'all prune tags no-tags quiet verbose dry-run atomic unshallow',
    longValued: 'depth deepen jobs',
    operands: ANY,
    check: ({ operands }) => operands.every(isRefName) && !operands[0]?.includes('/'),
  },
  {
    prefix: 'git add',
    flags: 'AuNvn',
    long: 'all update intent-to-add verbose dry-run no-all',
    operands: ANY,
    check: taken => staysHome(taken) && (taken.operands.length > 0 || taken.names.size > 0),
  },
]
