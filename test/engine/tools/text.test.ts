import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { commandActions } from '../../../src/engine/tools/command-actions.ts'
import { Output } from '../../../src/engine/tools/output.ts'
import { shellPatch } from '../../../src/engine/tools/patch-shell.ts'
import { joinWords, quoteWord } from '../../../src/engine/tools/quote.ts'
import { unifiedHunks } from '../../../src/engine/tools/unified-diff.ts'

t.test('the output of a command', async t => {
  t.test('is its deltas put together, however it was cut', async t => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.uint8Array(),
            fc.string({ unit: 'binary' }).map(s => Buffer.from(s)),
          ),
        ),
        async parts => {
          const deltas: string[] = []
          const output = new Output(delta => void deltas.push(delta))
          for (const part of parts) output.write(Buffer.from(part))
          const whole = output.end()
          t.equal(deltas.join(''), whole)
          t.equal(whole, Buffer.concat(parts).toString('utf8'))
          t.notOk(deltas.includes(''))
        },
      ),
      { numRuns: 200 },
    )
  })

  t.test('never cuts a character, and sends what comes fast in one piece', async t => {
    const deltas: string[] = []
    const output = new Output(delta => void deltas.push(delta))
    for (const byte of Buffer.from('aé😀b')) output.write(Buffer.from([byte]))
    t.same(deltas, ['a'])
    await sleep(60)
    t.same(deltas, ['a', 'é😀b'])
    output.write(Buffer.from([0xe2, 0x82]))
    t.equal(output.end(), 'aé😀b\ufffd')
    output.write(Buffer.from('late'))
    t.equal(output.end(), 'aé😀b\ufffd')
    t.equal(deltas.join(''), 'aé😀b\ufffd')
  })

  t.test('of a mebibyte and more keeps its two ends and says so, in item and deltas alike', async t => {
    const deltas: string[] = []
    const output = new Output(delta => void deltas.push(delta))
    output.write(Buffer.from('START\n'))
    for (let i = 0; i < 400; i++) output.write(Buffer.from(`${'é'.repeat(4095)}\n`))
    output.write(Buffer.from('the error at the end\n'))
    const whole = output.end()
    t.equal(deltas.join(''), whole)
    t.ok(whole.startsWith('START\n'))
    t.ok(whole.endsWith('the error at the end\n'))
    t.match(whole, /\n\[\.\.\. \d+ bytes of output left out \.\.\.\]\n/)
    t.ok(Buffer.byteLength(whole) <= 1024 * 1024 + 100)
    t.notMatch(whole, /\ufffd/)
    t.equal(output.tokens, Math.ceil((6 + 400 * 8191 + 21) / 4))
    const model = output.forModel(10)
    t.match(model, {
      lines: 402,
      text: /^START\né{7}…\d+ tokens truncated…the end\n$|^START\n.*tokens truncated….*the end\n$/,
    })
  })

  t.test('is shown to the model whole, or with its middle left out', async t => {
    const output = new Output(() => {})
    output.write(Buffer.from('one\ntwo\nthree'))
    t.same(output.forModel(100), { text: 'one\ntwo\nthree', lines: null })
    t.same(output.forModel(2), { text: 'one\n…2 tokens truncated…hree', lines: 3 })
    t.same(output.forModel(0), { text: '…4 tokens truncated…', lines: 3 })
    t.same(new Output(() => {}).forModel(0), { text: '', lines: null })
  })

  t.test('of 200 MiB takes little memory and never much time at once', async t => {
    const output = new Output(() => {})
    const chunk = Buffer.alloc(65_536, 'y\n')
    const before = process.memoryUsage().rss
    for (let i = 0; i < 3_200; i++) output.write(chunk)
    output.end()
    t.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024)
    t.match(output.forModel(10_000), { lines: 104_857_600 })
  })
})

t.test('a quoted word', async t => {
  t.test('looks as codex shows it', async t => {
    t.equal(
      joinWords(['/bin/bash', '-lc', 'echo hi; sleep 0.2; echo err >&2']),
      "/bin/bash -lc 'echo hi; sleep 0.2; echo err >&2'",
    )
    t.equal(joinWords(['/bin/bash', '-lc', 'ls']), '/bin/bash -lc ls')
    t.equal(joinWords(['eza', '--color=always', 'src']), "eza '--color=always' src")
    t.equal(joinWords(['sed', '-n', '1,2p', 'a.txt']), "sed -n '1,2p' a.txt")
    t.equal(joinWords(['cat', 'pkg\\src']), 'cat "pkg\\\\src"')
    t.equal(joinWords(['echo', '']), "echo ''")
    t.equal(joinWords(["it's"]), `"it's"`)
    t.equal(joinWords(['a\0']), '<command included NUL byte>')
  })

  t.test('is read back by a shell as it was', async t => {
    const words = [
      '',
      "'",
      '"',
      '$x',
      '`id`',
      '\\',
      "^'$",
      '!a',
      'a\'b"c$d`e\\f!g^h',
      'é ü',
      '\n',
      '~',
      '#',
      '{a,b}',
      '=ls',
    ]
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'\'"$`\\!^ a-é') }), word => void words.push(word)),
      { numRuns: 150 },
    )
    const script = `printf '%s\\0' ${words.map(quoteWord).join(' ')}`
    t.same(execFileSync('/bin/bash', ['-c', script]).toString().split('\0').slice(0, -1), words)
  })
})

t.test('the actions of a command line', async t => {
  const read = (command: string, name: string, path: string): object => ({ type: 'read', command, name, path })
  const list = (command: string, path: string | null): object => ({ type: 'list', command, path })
  const search = (command: string, query: string | null, path: string | null): object => ({
    type: 'search',
    command,
    query,
    path,
  })
  const cases: Readonly<Record<string, readonly object[]>> = {
    'cat a.txt': [read('cat a.txt', 'a.txt', '/w/a.txt')],
    'ls -a': [list('ls -a', null)],
    'grep -rn one .': [search('grep -rn one .', 'one', '.')],
    'sed -n 1,2p a.txt && ls': [read("sed -n '1,2p' a.txt", 'a.txt', '/w/a.txt'), list('ls', null)],
    "cat tui/Cargo.toml | sed -n '1,200p'": [
      read("cat tui/Cargo.toml | sed -n '1,200p'", 'Cargo.toml', '/w/tui/Cargo.toml'),
    ],
    'head -n 50 Cargo.toml': [read('head -n 50 Cargo.toml', 'Cargo.toml', '/w/Cargo.toml')],
    'head -n50 a': [read('head -n50 a', 'a', '/w/a')],
    'tail -n +522 README.md': [read('tail -n +522 README.md', 'README.md', '/w/README.md')],
    'nl -ba src/a.rs | sed -n 1,9p': [read('nl -ba src/a.rs | sed -n 1,9p', 'a.rs', '/w/src/a.rs')],
    "awk '{print $1}' Cargo.toml": [read("awk '{print $1}' Cargo.toml", 'Cargo.toml', '/w/Cargo.toml')],
    'less -p TODO README.md': [read('less -p TODO README.md', 'README.md', '/w/README.md')],
    'bat --theme TwoDark README.md': [read('bat --theme TwoDark README.md', 'README.md', '/w/README.md')],
    'cd foo && cat bar/foo.txt': [read('cat bar/foo.txt', 'foo.txt', '/w/foo/bar/foo.txt')],
    'cd -- -weird && cat foo.txt': [read('cat foo.txt', 'foo.txt', '/w/-weird/foo.txt')],
    'printf "\\n==\\n"; cat -- a/Cargo.toml': [read('cat -- a/Cargo.toml', 'Cargo.toml', '/w/a/Cargo.toml')],
    'rg -n "BUG|FIXME" -S | head -n 200': [search("rg -n 'BUG|FIXME' -S", 'BUG|FIXME', null)],
    'rg --files webview/src | sed -n': [list('rg --files webview/src', 'webview')],
    'rg -g "*.ts" foo src/lib': [search("rg -g '*.ts' foo src/lib", 'foo', 'lib')],
    'grep -R src/main.rs -n .': [search('grep -R src/main.rs -n .', 'src/main.rs', '.')],
    'grep -e one -A 3 core/src/spawn.rs': [search('grep -e one -A 3 core/src/spawn.rs', 'one', 'spawn.rs')],
    'git grep -l TODO src': [search('git grep -l TODO src', 'TODO', 'src')],
    'git ls-files --exclude target src': [list('git ls-files --exclude target src', 'src')],
    'find . -name "*.ts" -type f': [search("find . -name '*.ts' -type f", '*.ts', '.')],
    'find src': [list('find src', 'src')],
    'fd TODO src': [search('fd TODO src', 'TODO', 'src')],
    'fd ./docs': [list('fd ./docs', 'docs')],
    fd: [list('fd', null)],
    'tree -L 2 src': [list('tree -L 2 src', 'src')],
    'true && rg --files': [list('rg --files', null)],
    'rg --files || true': [list('rg --files', null)],
    'echo look; ls': [list('ls', null)],
    'ls; ls': [list('ls', null)],
    'yes | rg --files': [list('rg --files', null)],
    'ls *.ts': [list("ls '*.ts'", '*.ts')],
  }
  for (const [command, actions] of Object.entries(cases)) t.same(commandActions(command, '/w'), actions, command)
  const unknown = [
    'git status',
    'echo hi; sleep 0.2; echo err >&2',
    'exit 3',
    'touch made.txt && echo made',
    'rg --files | nl -ba | foo',
    'rg -l a src | xargs perl -pi -e s/a/b/g',
    'cat a > b',
    'cat $(id)',
    'cat a b',
    'ls &',
    '(ls)',
    'ls &&',
    'true',
    'wc -l',
    'head -c 5 a',
    'sed s/a/b/ f',
    '',
    ' ',
    '\0',
    '"',
    'x'.repeat(100_000),
  ]
  for (const command of unknown)
    t.same(commandActions(command, '/w'), [{ type: 'unknown', command }], JSON.stringify(command.slice(0, 50)))
})

t.test('a patch in a shell command', async t => {
  const patch = '*** Begin Patch\n*** Add File: h.txt\n+x\n*** End Patch\n'
  t.same(shellPatch(`apply_patch <<'EOF'\n${patch}EOF`), { patch, folder: null })
  t.same(shellPatch(`applypatch <<"X"\n${patch}X\n`), { patch, folder: null })
  t.same(shellPatch(`apply_patch <<EOF\n${patch}EOF`), { patch, folder: null })
  t.same(shellPatch(`cd 'some where' && apply_patch <<'EOF'\n${patch}EOF\n`), { patch, folder: 'some where' })
  t.same(shellPatch(`apply_patch '${patch}'`), { patch, folder: null })
  const dollars = '*** Begin Patch\n*** Add File: a\n+$HOME `id`\n*** End Patch\n'
  t.same(shellPatch(`apply_patch <<'EOF'\n${dollars}EOF`), { patch: dollars, folder: null })
  for (const other of [
    `apply_patch <<'EOF' && rm x\n${patch}EOF`,
    `apply_patch <<'EOF'\n${patch}EOF\nrm x`,
    `cd a; apply_patch <<'EOF'\n${patch}EOF`,
    `cd a || apply_patch <<'EOF'\n${patch}EOF`,
    `cd $(id) && apply_patch <<'EOF'\n${patch}EOF`,
    `X=1 apply_patch <<'EOF'\n${patch}EOF`,
    `apply_patch <<'EOF' > f\n${patch}EOF`,
    `apply_patch <<'EOF' &\n${patch}EOF`,
    'apply_patch "$(cat p)"',
    'apply_patch p.txt',
    'apply_patch',
    'echo apply_patch',
    '',
  ]) {
    t.equal(shellPatch(other), null, other)
  }
})

t.test('a unified diff', async t => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['one\ntwo\n', 'ONE\ntwo\n', '@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n'],
    ['', 'hello\nworld\n', '@@ -0,0 +1,2 @@\n+hello\n+world\n'],
    ['bye\n', '', '@@ -1 +0,0 @@\n-bye\n'],
    ['a', 'b', '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n'],
    ['a\nb\nc\nd\ne\n', 'a\nb\nc\nD\ne\n', '@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n'],
    ['same\n', 'same\n', ''],
  ]
  for (const [before, after, diff] of cases) t.equal(unifiedHunks(before, after, 1), diff)
  const lines = (factor: number): string =>
    Array.from({ length: 20_000 }, (_, i) => `${(i * factor) % 7_919}\n`).join('')
  t.match(
    unifiedHunks(lines(3), lines(5), 1),
    /^@@ -1,20000 \+1,20000 @@\n-0\n/,
    'of texts too different says that all changed',
  )
})
