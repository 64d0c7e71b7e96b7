import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { classify, matchesPrefix } from '../../../src/engine/policy/commands.ts'
import { decide, type Question } from '../../../src/engine/policy/policy.ts'

interface Row {
  readonly cmd: string
  readonly safe: boolean
  readonly prefix: readonly string[] | null
  readonly shell?: string
  readonly grant?: readonly string[]
}

const rows: readonly Row[] = readFileSync(new URL('./corpus.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line))

t.test('the corpus of command lines', async t => {
  // Rows for another shell never come here: only POSIX shells are trusted. Their words are safe all the same.
  const posix = rows.filter(row => row.shell === undefined)

  t.test('has none that runs unasked and should not', async t => {
    t.same(
      posix.filter(row => !row.safe && classify(row.cmd).readOnly),
      [],
    )
    t.same(
      rows.filter(row => row.shell && !row.safe && classify(row.cmd).readOnly),
      [],
    )
  })

  t.test('has none that is offered a prefix and should not be', async t => {
    t.same(
      rows.filter(row => row.prefix === null && classify(row.cmd).prefix !== null),
      [],
    )
  })

  t.test('has none that slips through a grant', async t => {
    const traps = rows.filter(row => row.grant)
    t.equal(traps.length, 28)
    t.same(
      traps.filter(row => matchesPrefix(row.cmd, row.grant!)),
      [],
    )
    t.same(
      traps.filter(row => classify(row.cmd).readOnly),
      [],
    )
  })

  t.test('has the safe ones recognised', async t => {
    const safe = posix.filter(row => row.safe)
    t.same(
      safe.filter(row => !classify(row.cmd).readOnly),
      [],
    )
    t.equal(safe.length, 30)
  })

  t.test('has the exact prefixes', async t => {
    const offered = posix.filter(row => row.prefix)
    t.same(
      offered.map(row => classify(row.cmd).prefix),
      offered.map(row => row.prefix),
    )
    for (const row of offered) t.ok(matchesPrefix(row.cmd, row.prefix!), row.cmd)
  })
})

t.test('more that only reads', async t => {
  const safe = [
    'pwd',
    'ls -la src',
    'ls -la 2>/dev/null',
    'grep -rn foo src 2>&1 | head',
    'du -sh src',
    'df -h',
    'file a.bin',
    'test -f a',
    'sha256sum a',
    'cut -d: -f1 a',
    'sort -u a | uniq -c',
    'sort a|uniq',
    'cat a b | grep -v x',
    'wc -l a',
    "printf '%s\\n' a b",
    'rg -n "foo bar" src',
    "rg -g '*.ts' foo",
    "grep -rn --include='*.ts' foo src",
    'grep -rn foo',
    "sed -n '/start/,/end/p' a",
    "sed -n '5p;9p' a",
    'find src -maxdepth 2 -not -path "*/node_modules/*"',
    'tail -20 a',
    'tail -n +5 a',
    'tree -L 2',
    'echo -n a',
    'date -u +%F',
    'readlink -f a',
    'stat -c %s a',
    'ls; pwd;',
    'diff -ru a b',
    "grep 'naïve' a",
    'cat docs/übersicht.md',
    'cat /dev/null',
    'xxd a',
    'od -c a',
    'cat "a file"',
    "ls 'a b'",
  ]
  for (const command of safe) t.equal(classify(command).readOnly, true, command)
})

t.test('more that must be asked for', async t => {
  const unsafe = [
    '',
    ' ',
    ';',
    'ls;;',
    '; ls',
    'ls &',
    'ls|&cat',
    'time ls',
    'ls # x',
    'ls\n',
    'ls\tx',
    'ls\u00a0x',
    'ls\u200b',
    '/bin/ls',
    'ls ~',
    'ls ~root',
    'cat a:~/b',
    'ls =cat',
    'ls a{b,c}',
    "ls $'a'",
    'ls "$HOME"',
    'ls "`id`"',
    "ls 'a'b",
    'l\\s',
    'ls \\-a',
    'LS',
    'cat -',
    'head',
    'cat a > /dev/null',
    'cat a 2>x',
    'cat < a',
    'cat 2>/dev/nullx',
    'tail -f a',
    'tail -F a',
    'tail -5f a',
    'sort -oa b',
    'sort -no a b',
    'sort --output=a b',
    'sort -T /x a',
    'uniq a b',
    'xxd a b',
    'xxd -r a',
    'tree -R -H x',
    'date 010203',
    'date -s x',
    'hostname x',
    'test a -ne b',
    "test 'x[$(id)]' -eq 1",
    'test -v a',
    '[ -f a ]',
    'strings @opts',
    'echo "\\033[2J"',
    "echo '\\e]52;c;x'",
    "sed -n 'w x' a",
    "sed -n '1p;w x' a",
    "sed -n '1e id' a",
    "sed -n -i '1p' a",
    "sed '1p' a",
    "sed -n '1p' a -i",
    'find . -delete',
    'find . "-delete"',
    'find . -fprint x',
    "find . -name a -exec id ';'",
    'rg --pre=id x',
    'rg --hidden x',
    'rg -uuu x',
    'rg --no-ignore x',
    "rg -g '.env' x",
    "rg -g '!/.x' x",
    'rg x /home',
    'rg x ..',
    'grep -r x /etc',
    'grep -r x a/../..',
    'grep -f p a',
    'cat .env.local',
    'cat a/.ssh/x',
    'cat server.pem',
    'cat /proc/self/environ',
    'cat //proc/1/maps',
    'cat /x/../proc/1/maps',
    'cat secrets.yaml',
    'head ~/.netrc',
    'cat .netrc',
    'ls .ssh',
    'nl id_rsa',
    'git status',
    'git log',
    'awk 1 a',
    'env',
    'xargs ls',
    'command ls',
    'exec ls',
    'cd / ',
    'jq . a',
    'less a',
    'man ls',
    "printf '\\033[2J'",
    "printf '%b' '\\e]52'",
    'printf -v x y',
    "printf '%s' '\\e'",
    'printf',
    'tee a',
    'cp a b',
    'yes',
    'sleep 1',
    'seq 1 99999999',
    'diff --to-file=x a',
    'diff -l a b',
    'file -C -m x',
    'file -z a',
    'base64 -o x a',
    'constructor',
    'toString',
    '__proto__',
    'hasOwnProperty',
    `ls ${'a'.repeat(9_000)}`,
    Array(40).fill('ls').join(' && '),
    'ls \ud83d\ude00\u202e',
    'ls \ud800',
    'ls "a\\',
    'ls "',
  ]
  for (const command of unsafe) t.equal(classify(command).readOnly, false, JSON.stringify(command.slice(0, 60)))
})

t.test('more prefixes', async t => {
  const prefixes: Readonly<Record<string, readonly string[] | null>> = {
    'git add -A': ['git', 'add'],
    'git add src/a.ts': ['git', 'add'],
    'git add -p': null,
    'git add': null,
    'git add .env': null,
    'git log --oneline -20': ['git', 'log'],
    'git log -n 5 --format=%H': ['git', 'log'],
    'git show HEAD~1': ['git', 'show'],
    'git diff main...HEAD -- src': ['git', 'diff'],
    'git diff ../a ../b': null,
    'git diff --no-index a b': null,
    'git diff /etc/passwd a': null,
    'git branch -a': ['git', 'branch'],
    'git branch new': null,
    'git branch -m a b': null,
    'git fetch origin main': ['git', 'fetch'],
    'git fetch https://x/y': null,
    'git fetch origin +a:b': null,
    'git fetch ../x': null,
    'git stash': null,
    'git commit -m x': null,
    'git status 2>/dev/null': null,
    'git status | cat': null,
    'git  status': ['git', 'status'],
    'node --version': ['node', '--version'],
    'node --version x': null,
    'node "--version"': null,
    'npm view ./x': null,
    'npm view a/b': null,
    'npm view @a/b version': ['npm', 'view'],
    'npm ls --depth=0': ['npm', 'ls'],
    'gh pr view 5 --web': null,
    'gh pr view 5 -R a/b': null,
    'gh pr view 5 --comments': ['gh', 'pr', 'view'],
    'touch ../outside.txt': ['touch'],
    'touch .git/x': null,
    'mkdir -m 777 a': null,
    'sed -n 1p a': ['sed', '-n'],
    'cat .env': null,
  }
  for (const [command, prefix] of Object.entries(prefixes)) t.same(classify(command).prefix, prefix, command)
  t.equal(matchesPrefix('find . -delete', ['find']), false)
  t.equal(matchesPrefix('git status', []), false)
  t.equal(matchesPrefix('git status', ['git']), false)
  t.equal(matchesPrefix('git status', ['git', 'status', '-s']), false)
  t.equal(matchesPrefix('git status -s', ['git', 'status']), true)
  t.equal(matchesPrefix('bash', ['bash']), false)
})

t.test('whatever a command line is made into, a shell runs what was understood', async t => {
  // Stubs of the programs write down how they were called; what was classified must be exactly what happens.
  const dir = t.testdir({})
  const bin = join(dir, 'bin')
  const log = join(dir, 'log')
  mkdirSync(bin)
  const names = ['git', 'ls', 'cat', 'grep', 'rm', 'id', 'touch', 'npm', 'head', 'sh', 'bash']
  for (const name of names) {
    writeFileSync(
      join(bin, name),
      `#!/bin/bash -p\nprintf '%s\\0' ${name} "$@" >> '${log}'\nprintf '\\n' >> '${log}'\n`,
    )
    chmodSync(join(bin, name), 0o755)
  }
  const run = (command: string): readonly string[][] => {
    writeFileSync(log, '')
    try {
      execFileSync('/bin/bash', ['-c', command], { cwd: dir, env: { PATH: bin }, stdio: 'ignore', timeout: 5_000 })
    } catch {
      // How it ends does not matter, only what ran.
    }
    return readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => line.split('\0').slice(0, -1))
  }
  const seeds = [
    'git status --short',
    'ls -la src',
    'git diff a',
    'touch a b',
    "grep -n 'a b' c",
    'npm view x',
    'cat a',
    'git log -n 5',
  ]
  const noise = [
    ...' \t\n\r\0;&|<>(){}[]$`\\"\'!#~*?=%^,:@+-/.',
    '\u00a0',
    '\u202e',
    '\u2028',
    '&&',
    '||',
    '$(id)',
    '`id`',
    '\\\n',
    '2>&1',
    ' -- ',
    "''",
    'rm x',
    ';rm x',
  ]
  const mutated = fc
    .tuple(
      fc.constantFrom(...seeds),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(...noise)), { minLength: 1, maxLength: 3 }),
    )
    .map(([seed, edits]) =>
      edits.reduce(
        (text, [at, add]) => text.slice(0, at % (text.length + 1)) + add + text.slice(at % (text.length + 1)),
        seed,
      ),
    )
  let understood = 0
  fc.assert(
    fc.property(mutated, command => {
      const { readOnly, prefix } = classify(command)
      if (prefix === null && !readOnly) return
      understood++
      const ran = run(command)
      if (prefix) {
        t.equal(ran.length, 1, command)
        t.same(ran[0]?.slice(0, prefix.length), prefix, command)
      } else for (const [name] of ran) t.ok(['ls', 'cat', 'grep', 'head'].includes(name ?? ''), command)
    }),
    { numRuns: 1_000 },
  )
  t.ok(understood > 10, 'some are understood')
})

t.test('the decision', async t => {
  const free = { type: 'dangerFullAccess' } as const
  const readOnly = { type: 'readOnly', networkAccess: false } as const
  const workspace = {
    type: 'workspaceWrite',
    writableRoots: [],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  } as const
  const short = (verdict: ReturnType<typeof decide>): string => (typeof verdict === 'string' ? verdict : 'refuse')

  t.test('about commands', async t => {
    const table: string[] = []
    for (const policy of ['untrusted', 'on-request', 'never'] as const) {
      for (const sandbox of [free, workspace, readOnly]) {
        const verdict = (reads: boolean, escalated: boolean): string => {
          const question: Question = { tool: 'command', policy, sandbox, granted: false, readOnly: reads, escalated }
          t.equal(decide({ ...question, granted: true }), 'run')
          return short(decide(question))
        }
        const all = [verdict(false, false), verdict(false, true), verdict(true, false), verdict(true, true)]
        table.push(`${policy} ${sandbox.type}: ${all.join(' ')}`)
      }
    }
    // Columns: any command, one that escalates, one that only reads, one that only reads and escalates.
    t.same(table, [
      'untrusted dangerFullAccess: ask ask run ask',
      'untrusted workspaceWrite: ask ask run ask',
      'untrusted readOnly: ask ask run ask',
      'on-request dangerFullAccess: run ask run ask',
      'on-request workspaceWrite: ask ask run ask',
      'on-request readOnly: ask ask run ask',
      'never dangerFullAccess: run run run run',
      'never workspaceWrite: refuse refuse run refuse',
      'never readOnly: refuse refuse run refuse',
    ])
  })

  t.test('about patches', async t => {
    const table: string[] = []
    for (const policy of ['untrusted', 'on-request', 'never'] as const) {
      for (const sandbox of [free, workspace, readOnly]) {
        const verdict = (outside: string | null): string => {
          const question: Question = { tool: 'patch', policy, sandbox, granted: false, outside }
          t.equal(decide({ ...question, granted: true }), 'run')
          return short(decide(question))
        }
        table.push(`${policy} ${sandbox.type}: ${verdict(null)} ${verdict('it is outside')}`)
      }
    }
    // Columns: all files inside the workspace, some outside.
    t.same(table, [
      'untrusted dangerFullAccess: ask ask',
      'untrusted workspaceWrite: ask ask',
      'untrusted readOnly: ask ask',
      'on-request dangerFullAccess: run run',
      'on-request workspaceWrite: run ask',
      'on-request readOnly: ask ask',
      'never dangerFullAccess: run run',
      'never workspaceWrite: run refuse',
      'never readOnly: refuse refuse',
    ])
  })
})
