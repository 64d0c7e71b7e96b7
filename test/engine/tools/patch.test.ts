import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type PatchSection, parsePatch } from '../../../src/engine/tools/patch.ts'
import { applyPlan } from '../../../src/engine/tools/patch-apply.ts'
import { placeOf, whyAsk } from '../../../src/engine/tools/patch-place.ts'
import { planPatch } from '../../../src/engine/tools/patch-plan.ts'
import { applyChunks } from '../../../src/engine/tools/patch-text.ts'

const wrap = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')

function sections(text: string): readonly PatchSection[] {
  const parsed = parsePatch(text)
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.sections
}

t.test('a patch', async t => {
  t.test('is read with all that it can hold', async t => {
    const text = wrap(
      '*** Add File: a/new.txt',
      '+one',
      '+',
      '+ two',
      '*** Delete File: old.txt',
      '*** Update File: b.txt',
      '*** Move to: c.txt',
      '@@ class A',
      '@@ method()',
      ' stays',
      '-goes',
      '+comes',
      '',
      '*** End of File',
      '@@',
      '-x',
      '+y',
    )
    t.same(sections(text), [
      { type: 'add', path: 'a/new.txt', text: 'one\n\n two\n' },
      { type: 'delete', path: 'old.txt' },
      {
        type: 'update',
        path: 'b.txt',
        movePath: 'c.txt',
        chunks: [
          {
            context: ['class A', 'method()'],
            atEnd: true,
            lines: [
              { kind: ' ', text: 'stays' },
              { kind: '-', text: 'goes' },
              { kind: '+', text: 'comes' },
              { kind: ' ', text: '' },
            ],
          },
          {
            context: [],
            atEnd: false,
            lines: [
              { kind: '-', text: 'x' },
              { kind: '+', text: 'y' },
            ],
          },
        ],
      },
    ])
  })

  t.test('is read however a model wraps it', async t => {
    const plain = wrap('*** Update File: a', '@@', '-x', '+y')
    const expected = sections(plain)
    for (const text of [
      `\n\n${plain}\n\n`,
      `<<'EOF'\n${plain}\nEOF`,
      `<<EOF\n${plain}\nEOF\n`,
      `<<"EOF"\n${plain}\nEOF`,
      plain.replaceAll('\n', '\r\n'),
      plain.replace('*** Begin Patch', ' *** Begin Patch  ').replace('*** End Patch', '\t*** End Patch '),
      plain.replace('*** Update File: a', '  *** Update File: a  '),
      plain.replace('@@\n', ''),
      plain.replace('@@\n', '@@ -1,3 +1,4 @@\n'),
      plain.replace('@@', '\n@@'),
    ]) {
      t.same(sections(text), expected, JSON.stringify(text))
    }
    t.same(sections(plain.replace('@@', '@@ -1 +1,2 @@ def f():')), [
      {
        ...expected[0],
        chunks: [
          {
            context: ['def f():'],
            atEnd: false,
            lines: [
              { kind: '-', text: 'x' },
              { kind: '+', text: 'y' },
            ],
          },
        ],
      },
    ])
    t.same(sections(wrap()), [])
    t.same(sections(wrap('*** Update File: a', '*** Move to: b')), [
      { type: 'update', path: 'a', movePath: 'b', chunks: [] },
    ])
  })

  t.test('that is none is refused in the words of codex', async t => {
    const hint = "Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'"
    const cases: readonly (readonly [string, string | RegExp])[] = [
      ['garbage', "invalid patch: The first line of the patch must be '*** Begin Patch'"],
      ['', "invalid patch: The first line of the patch must be '*** Begin Patch'"],
      ['*** Begin Patch', "invalid patch: The last line of the patch must be '*** End Patch'"],
      ['*** Begin Patch\n*** Add File: a\n+x', "invalid patch: The last line of the patch must be '*** End Patch'"],
      [wrap('nonsense'), `invalid hunk at line 2, 'nonsense' is not a valid hunk header. ${hint}`],
      [wrap('*** Add File: '), /^invalid hunk at line 2, '\*\*\* Add File:' is not a valid hunk header/],
      [wrap('*** Add File: a', '+x', 'y'), /^invalid hunk at line 4, 'y' is not a valid/],
      [wrap('*** Update File: a'), "invalid hunk at line 2, Update file hunk for path 'a' is empty"],
      [wrap('*** Update File: a', '@@'), 'invalid hunk at line 4, Update hunk does not contain any lines'],
      [
        wrap('*** Update File: a', '@@', '*** End of File'),
        'invalid hunk at line 4, Update hunk does not contain any lines',
      ],
      [wrap('*** Update File: a', '@@', 'x'), /^invalid hunk at line 4, Unexpected line found in update hunk: 'x'/],
      [
        wrap('*** Update File: a', '@@', '+x', 'y'),
        "invalid hunk at line 5, Expected update hunk to start with a @@ context marker, got: 'y'",
      ],
      ['x'.repeat(17 * 1024 * 1024), 'invalid patch: it is too large'],
    ]
    for (const [text, error] of cases)
      t.match(parsePatch(text), { ok: false, error }, JSON.stringify(text.slice(0, 60)))
  })

  t.test('never makes the parser throw or loop', async t => {
    const line = fc.oneof(
      fc.constantFrom(
        '*** Begin Patch',
        '*** End Patch',
        '*** Add File: a',
        '*** Update File: a',
        '*** Move to: b',
        '*** End of File',
        '@@',
        '@@ x',
        '+',
        '-',
        ' ',
        '',
      ),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), lines => {
        t.type(parsePatch(wrap(...lines)).ok, 'boolean')
      }),
      { numRuns: 500 },
    )
  })
})

t.test('a changed text', async t => {
  const apply = (before: string, ...lines: string[]): string => {
    const [section] = sections(wrap('*** Update File: f', ...lines))
    const applied = applyChunks(before, section?.type === 'update' ? section.chunks : [], 'f')
    return applied.ok ? applied.text : `error: ${applied.error}`
  }

  t.test('is found by its context', async t => {
    const two = 'class A\n  def f():\n    x\nclass B\n  def f():\n    x\n'
    t.equal(
      apply(two, '@@ class B', '@@   def f():', '-    x', '+    y'),
      'class A\n  def f():\n    x\nclass B\n  def f():\n    y\n',
    )
    t.equal(apply(two, '@@ def f():', '-    x', '+    y'), 'class A\n  def f():\n    y\nclass B\n  def f():\n    x\n')
    t.equal(apply('a\nb\nc\nd\n', '@@', '-b', '+B', '@@', '-d', '+D'), 'a\nB\nc\nD\n')
    t.equal(apply('a\nx\na\nx\n', '@@', ' a', '-x', '*** End of File'), 'a\nx\na\n')
    t.equal(apply('a\nb\n', '@@ a', '+new'), 'a\nnew\nb\n')
    t.equal(apply('a\n', '+end'), 'a\nend\n')
    t.equal(apply('a\n\n', '+before the last empty line'), 'a\nbefore the last empty line\n\n')
    t.equal(apply('', '+first'), 'first\n')
    t.equal(apply('a\nb\n', '@@', ' a', '-b', '', '+c'), 'a\nc\n', 'an empty line stands for the last line end')
  })

  t.test('is found although blanks and punctuation differ, and keeps its own', async t => {
    t.equal(apply('a  \nb\t\nc\n', '@@', ' a', '-b', '+B', ' c'), 'a  \nB\nc\n')
    t.equal(apply('    a\n  b\n', '@@', ' a', '-b', '+B'), '    a\nB\n')
    t.equal(
      apply('x \u2013 \u201cq\u201d\u00a0y\nb\n', '@@', ' x - "q" y', '-b', '+B'),
      'x \u2013 \u201cq\u201d\u00a0y\nB\n',
    )
    t.equal(apply('a \na\nb\n', '@@', ' a', '-b', '+B'), 'a \na\nB\n', 'the likest place wins')
  })

  t.test('keeps line ends, byte order mark and a missing last line end', async t => {
    t.equal(apply('a\r\nb\r\n', '@@', '-a', '+A', '+A2'), 'A\r\nA2\r\nb\r\n')
    t.equal(apply('a\r\nb\nc\r\nd\r\n', '@@', ' b', '-c', '+C'), 'a\r\nb\nC\r\nd\r\n')
    t.equal(apply('\ufeffa\nb\n', '@@', '-a', '+A'), '\ufeffA\nb\n')
    t.equal(apply('\ufeffa\r\nb', '@@', '-b', '+B'), '\ufeffa\r\nB')
    t.equal(apply('a\nb', '@@', '-a', '+A'), 'A\nb')
    t.equal(apply('a\nb', '@@', ' b', '+c'), 'a\nb\nc')
    t.equal(apply('a\nb\n', '@@', '-a', '-b'), '')
    t.equal(apply('a\rb\n', '@@', '-a\rb', '+c'), 'c\n')
  })

  t.test('that does not fit says what was looked for', async t => {
    t.equal(apply('a\n', '@@', '-x', '-y'), 'error: Failed to find expected lines in f:\nx\ny')
    t.equal(apply('a\n', '@@ nowhere', '-a'), "error: Failed to find context 'nowhere' in f")
    t.equal(
      apply('a\nb\n', '@@', '-b', '@@', '-a'),
      'error: Failed to find expected lines in f:\na',
      'chunks stand in order',
    )
    const all = 'a\n'.repeat(60_000)
    const many = Array(30_000).fill(' a')
    t.match(apply(all, '@@', ...many, '-b'), /too many places/, 'a patch made to cost time is given up')
  })

  t.test('is what any edit makes of any file', async t => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', '', ' a', 'é'), { maxLength: 12 })
    fc.assert(
      fc.property(text, text, fc.constantFrom('\n', '\r\n'), fc.boolean(), (before, after, eol, ended) => {
        const end = ended || before.length === 0 || after.length === 0 ? eol : ''
        const old = before.length > 0 ? before.join(eol) + end : ''
        if (old !== '' && !old.includes('\n')) return
        // A last line that is empty and has no end is no line.
        if (end === '' && (before.at(-1) === '' || after.at(-1) === '')) return
        const lines = [...before.map(line => `-${line}`), ...after.map(line => `+${line}`)]
        if (lines.length === 0 || before.length === 0) return
        t.equal(apply(old, '@@', ...lines), after.length > 0 ? after.join(eol) + end : '')
      }),
      { numRuns: 300 },
    )
  })
})

t.test('a plan', async t => {
  const plan = (cwd: string, ...lines: string[]): ReturnType<typeof planPatch> =>
    planPatch(sections(wrap(...lines)), cwd)
  const changes = (cwd: string, ...lines: string[]): unknown => {
    const planned = plan(cwd, ...lines)
    return planned.ok ? planned.plan.changes : planned.error
  }

  t.test('shows what would change, and changes nothing', async t => {
    const cwd = realpathSync(t.testdir({ 'a.txt': 'one\ntwo\n', 'b.txt': 'bye\n' }))
    const all = [
      '*** Add File: n.txt',
      '+x',
      '*** Update File: a.txt',
      '*** Move to: moved.txt',
      '@@',
      '-one',
      '+ONE',
      ' two',
      '*** Delete File: b.txt',
    ]
    t.same(changes(cwd, ...all), [
      {
        path: join(cwd, 'a.txt'),
        kind: 'update',
        movePath: join(cwd, 'moved.txt'),
        diff: `@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n\n\nMoved to: ${join(cwd, 'moved.txt')}`,
      },
      { path: join(cwd, 'b.txt'), kind: 'delete', movePath: null, diff: 'bye\n' },
      { path: join(cwd, 'n.txt'), kind: 'add', movePath: null, diff: 'x\n' },
    ])
    t.match(plan(cwd, ...all), { plan: { summary: ['A n.txt', 'M moved.txt', 'D b.txt'], replaced: [] } })
    t.same(readdirSync(cwd).sort(), ['a.txt', 'b.txt'])
  })

  t.test('lets every section see the ones before it', async t => {
    const cwd = realpathSync(t.testdir({ a: 'one\n', b: 'two\n' }))
    const at = (name: string): string => join(cwd, name)
    t.same(changes(cwd, '*** Update File: a', '@@', '-one', '+2', '*** Update File: a', '@@', '-2', '+3'), [
      { path: at('a'), kind: 'update', movePath: null, diff: '@@ -1 +1 @@\n-one\n+3\n' },
    ])
    t.same(changes(cwd, '*** Add File: n', '+1', '*** Update File: n', '@@', '-1', '+2'), [
      { path: at('n'), kind: 'add', movePath: null, diff: '2\n' },
    ])
    t.same(changes(cwd, '*** Add File: n', '+1', '*** Delete File: n'), [])
    t.same(changes(cwd, '*** Delete File: a', '*** Add File: a', '+new'), [
      { path: at('a'), kind: 'update', movePath: null, diff: '@@ -1 +1 @@\n-one\n+new\n' },
    ])
    t.match(
      changes(cwd, '*** Delete File: a', '*** Update File: a', '@@', '-one'),
      /^Failed to read file to update .*\/a: No such file/,
    )
    t.same(changes(cwd, '*** Update File: a', '*** Move to: x', '*** Update File: x', '*** Move to: y'), [
      { path: at('a'), kind: 'update', movePath: at('y'), diff: `\n\nMoved to: ${at('y')}` },
    ])
    t.same(
      changes(cwd, '*** Update File: a', '*** Move to: x', '*** Update File: x', '*** Move to: a', '@@', '-one', '+1'),
      [{ path: at('a'), kind: 'update', movePath: null, diff: '@@ -1 +1 @@\n-one\n+1\n' }],
    )
  })

  t.test('says when it takes the place of a file', async t => {
    const cwd = realpathSync(t.testdir({ a: 'one\n', b: 'two\n' }))
    t.match(plan(cwd, '*** Update File: a', '*** Move to: b'), { plan: { replaced: [join(cwd, 'b')] } })
    t.same(changes(cwd, '*** Add File: b', '+x'), [
      { path: join(cwd, 'b'), kind: 'update', movePath: null, diff: '@@ -1 +1 @@\n-two\n+x\n' },
    ])
  })

  t.test('refuses what cannot be patched', async t => {
    const cwd = realpathSync(
      t.testdir({ dir: { f: '' }, latin: Buffer.from([0xe4, 0x0a]), big: Buffer.alloc(33 * 1024 * 1024) }),
    )
    execFileSync('mkfifo', [join(cwd, 'pipe')])
    const update = (path: string): unknown => changes(cwd, `*** Update File: ${path}`, '@@', '-x', '+y')
    t.equal(update('none'), `Failed to read file to update ${cwd}/none: No such file or directory (os error 2)`)
    t.equal(changes(cwd, '*** Delete File: none'), `Failed to read ${cwd}/none: No such file or directory (os error 2)`)
    t.match(update('dir'), /: Is a directory \(os error 21\)$/)
    t.match(update('dir/f/g'), /Not a directory \(os error 20\)$/)
    t.match(update('latin'), /: stream did not contain valid UTF-8$/)
    t.match(update('big'), /: it is too large \(34603008 bytes\)$/)
    t.match(update('pipe'), /: it is not a regular file$/)
    t.match(update('/dev/zero'), /: it is not a regular file$/)
    t.match(update('a\0b'), /a path holds no NUL byte$/)
    t.match(update('x'.repeat(5_000)), /File name too long/)
    t.match(changes(cwd, '*** Add File: dir', '+x'), /Is a directory/)
    t.match(changes(cwd, '*** Delete File: latin'), [{ kind: 'delete' }])
    for (const name of ['__proto__', 'constructor'])
      t.match(changes(cwd, `*** Add File: ${name}`, '+x'), [{ kind: 'add' }])
  })
})

t.test('the places of a patch', async t => {
  const out = realpathSync(t.testdir({ victim: 'old\n', dir: {} }))
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'patch-place-')))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  mkdirSync(join(cwd, 'sub/.git'), { recursive: true })
  writeFileSync(join(cwd, 'file'), '')
  symlinkSync(join(out, 'victim'), join(cwd, 'link'))
  symlinkSync(out, join(cwd, 'dirlink'))
  symlinkSync('file', join(cwd, 'inner'))
  symlinkSync('/no/where', join(cwd, 'dangling'))
  symlinkSync('sub/.git', join(cwd, 'gitlink'))
  linkSync(join(out, 'victim'), join(cwd, 'hard'))
  const why = (path: string, roots: readonly string[] = [cwd]): string | null =>
    whyAsk(placeOf(path.startsWith('/') ? path : join(cwd, path)), roots)

  t.test('inside are not asked for', async t => {
    for (const path of [
      'file',
      'new',
      'sub/new',
      'a/b/c',
      'inner',
      'dangling',
      '.github/x',
      'git',
      '.gitignore',
      'x.git/y',
    ]) {
      t.equal(why(path), null, path)
    }
    t.equal(why('x', ['/nowhere', cwd]), null)
  })

  t.test('outside, behind links or protected are', async t => {
    const cases: Readonly<Record<string, RegExp>> = {
      '../up': /^writes outside the workspace: /,
      [join(out, 'abs')]: /^writes outside the workspace: /,
      '/': /outside/,
      '.': /outside/,
      link: /leads outside the workspace: .*\/victim$/,
      'dirlink/new': /leads outside|writes outside/,
      'dirlink/a/b': /outside/,
      hard: /is a hard link/,
      '.git/hooks/pre-commit': /protected folder/,
      '.GIT/config': /protected/,
      '.g\u200cit/config': /protected/,
      '.git': /protected/,
      'sub/.git/config': /protected/,
      'gitlink/config': /protected/,
      '.codex/config.toml': /protected/,
      'a/.skein/x': /protected/,
    }
    for (const [path, reason] of Object.entries(cases)) t.match(why(path) ?? 'not asked', reason, path)
    t.match(why('file', [join(cwd, 'sub')]) ?? '', /outside/)
    t.match(why(`${cwd}2/x`) ?? '', /outside/, 'a name that starts alike is another')
  })
})

t.test('writing', async t => {
  const apply = (cwd: string, ...lines: string[]): string | null => {
    const planned = planPatch(sections(wrap(...lines)), cwd)
    return planned.ok ? applyPlan(planned.plan.files, 0o022) : planned.error
  }

  t.test('adds, changes, moves and deletes', async t => {
    const cwd = realpathSync(t.testdir({ 'a.txt': 'one\ntwo\n', 'b.txt': 'bye\n' }))
    const lines = [
      '*** Add File: deep/er/n.txt',
      '+x',
      '*** Update File: a.txt',
      '*** Move to: new/moved.txt',
      '@@',
      '-one',
      '+ONE',
      '*** Delete File: b.txt',
    ]
    t.equal(apply(cwd, ...lines), null)
    t.same(readdirSync(cwd, { recursive: true }).sort(), ['deep', 'deep/er', 'deep/er/n.txt', 'new', 'new/moved.txt'])
    t.equal(readFileSync(join(cwd, 'new/moved.txt'), 'utf8'), 'ONE\ntwo\n')
    t.equal(readFileSync(join(cwd, 'deep/er/n.txt'), 'utf8'), 'x\n')
  })

  t.test('keeps the mode of a file, also when it moves, and gives new ones the usual one', async t => {
    const cwd = realpathSync(t.testdir({ run: '#!/bin/sh\n', move: 'x\n' }))
    chmodSync(join(cwd, 'run'), 0o751)
    chmodSync(join(cwd, 'move'), 0o700)
    t.equal(
      apply(
        cwd,
        '*** Update File: run',
        '@@',
        ' #!/bin/sh',
        '+true',
        '*** Update File: move',
        '*** Move to: d/m',
        '*** Add File: n',
        '+x',
      ),
      null,
    )
    const mode = (name: string): string => (statSync(join(cwd, name)).mode & 0o7777).toString(8)
    t.same(['run', 'd/m', 'n', 'd'].map(mode), ['751', '700', '644', '755'])
  })

  t.test('goes to the file behind a link, and cuts hard links', async t => {
    const cwd = realpathSync(t.testdir({ file: 'old\n', other: 'old\n' }))
    symlinkSync('file', join(cwd, 'link'))
    linkSync(join(cwd, 'other'), join(cwd, 'hard'))
    t.equal(
      apply(cwd, '*** Update File: link', '@@', '-old', '+new', '*** Update File: hard', '@@', '-old', '+new'),
      null,
    )
    t.equal(readlinkSync(join(cwd, 'link')), 'file')
    t.same(
      ['file', 'hard', 'other'].map(name => readFileSync(join(cwd, name), 'utf8')),
      ['new\n', 'new\n', 'old\n'],
    )
    t.equal(apply(cwd, '*** Delete File: link'), null)
    t.same(readdirSync(cwd).sort(), ['file', 'hard', 'other'])
  })

  t.test('does all or nothing', async t => {
    const cwd = realpathSync(t.testdir({ a: 'a\n', b: 'b\n', c: 'c\n', blocked: {} }))
    symlinkSync('a', join(cwd, 'link'))
    const planned = planPatch(
      sections(
        wrap(
          '*** Update File: a',
          '@@',
          '-a',
          '+A',
          '*** Add File: new/n',
          '+x',
          '*** Delete File: link',
          '*** Delete File: b',
          '*** Delete File: c',
        ),
      ),
      cwd,
    )
    if (!planned.ok) return t.fail(planned.error)
    // The last step fails: there is a folder now where a file is to be removed.
    rmSync(join(cwd, 'c'))
    mkdirSync(join(cwd, 'c'))
    t.match(applyPlan(planned.plan.files, 0o022), /^Failed to delete file .*\/c: /)
    t.same(readdirSync(cwd).sort(), ['a', 'b', 'blocked', 'c', 'link'])
    t.same(
      ['a', 'b'].map(name => readFileSync(join(cwd, name), 'utf8')),
      ['a\n', 'b\n'],
    )
    t.equal(readlinkSync(join(cwd, 'link')), 'a')
  })

  t.test('never goes through a folder that became a link', async t => {
    const out = realpathSync(t.testdir({ victim: 'old\n' }))
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'patch-race-')))
    t.teardown(() => rmSync(cwd, { recursive: true }))
    mkdirSync(join(cwd, 'sub'))
    writeFileSync(join(cwd, 'sub/victim'), 'old\n')
    const planned = planPatch(
      sections(wrap('*** Update File: sub/victim', '@@', '-old', '+new', '*** Add File: sub/deep/x', '+x')),
      cwd,
    )
    if (!planned.ok) return t.fail(planned.error)
    renameSync(join(cwd, 'sub'), join(cwd, 'real'))
    symlinkSync(out, join(cwd, 'sub'))
    t.match(applyPlan(planned.plan.files, 0o022), /^Failed to write file .*\/sub\/victim: /)
    t.same([readdirSync(out), readFileSync(join(out, 'victim'), 'utf8')], [['victim'], 'old\n'])
    t.ok(lstatSync(join(cwd, 'sub')).isSymbolicLink())
  })

  t.test('holds in a race with somebody who swaps folders for links', async t => {
    const out = realpathSync(t.testdir({ victim: 'old\n' }))
    const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'patch-race-')))
    t.teardown(() => rmSync(cwd, { recursive: true }))
    mkdirSync(join(cwd, 'real'))
    writeFileSync(join(cwd, 'real/victim'), 'old\n')
    symlinkSync(out, join(cwd, 'evil'))
    symlinkSync('real', join(cwd, 'sub'))
    const swap = `i=0; while [ $i -lt 60 ]; do ln -sfn real sub; ln -sfn evil sub; i=$((i+1)); done`
    const { spawn } = await import('node:child_process')
    const racer = spawn('/bin/sh', ['-c', swap], { cwd, stdio: 'ignore' })
    let running = true
    racer.once('exit', () => {
      running = false
    })
    for (let i = 0; running && i < 20_000; i++) {
      const planned = planPatch(
        sections(wrap('*** Update File: sub/victim', '@@', '-old', '+new', '*** Add File: sub/n', '+x')),
        cwd,
      )
      if (planned.ok && planned.plan.places.every(place => whyAsk(place, [cwd]) === null)) {
        applyPlan(planned.plan.files, 0o022)
        writeFileSync(join(cwd, 'real/victim'), 'old\n')
      }
      if (i % 20 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    racer.kill('SIGKILL')
    t.same([readdirSync(out), readFileSync(join(out, 'victim'), 'utf8')], [['victim'], 'old\n'])
    t.ok(existsSync(join(cwd, 'real/victim')))
    t.same(
      readdirSync(join(cwd, 'real')).filter(name => name.startsWith('.skein')),
      [],
    )
  })
})
