import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { diffRoot, TurnDiff } from '../../src/engine/turn-diff.ts'

const diffOf = (...changes: readonly (readonly [string, string | Buffer | null, string | Buffer | null])[]): string => {
  const diff = new TurnDiff('/w')
  const bytes = (content: string | Buffer | null): Buffer | null => (content === null ? null : Buffer.from(content))
  for (const [path, before, after] of changes) diff.add(path, bytes(before), bytes(after))
  return diff.text()
}

t.test('the diff of a turn', async t => {
  t.test('looks as codex shows it', async t => {
    t.equal(
      diffOf(['/w/new.txt', null, 'hello\nworld\n']),
      'diff --git a/new.txt b/new.txt\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..94954abda49de8615a048f8d2e64b5de848e27a1\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+hello\n+world\n',
    )
    t.equal(
      diffOf(
        ['/w/n.txt', null, 'x\n'],
        ['/w/a.txt', 'one\ntwo\n', null],
        ['/w/moved.txt', null, 'ONE\ntwo\n'],
        ['/w/b.txt', 'bye\n', null],
      ),
      'diff --git a/a.txt b/moved.txt\nindex 814f4a422927b82f5f8a43f8fab6d3839e3983f2..4c1ee586b89c236961f884e55c2745659e6e45f6\n--- a/a.txt\n+++ b/moved.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\ndiff --git a/b.txt b/b.txt\ndeleted file mode 100644\nindex b023018cabc396e7692c70bbf5784a93d3f738ab..0000000000000000000000000000000000000000\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\ndiff --git a/n.txt b/n.txt\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..587be6b4c3f93f93c489c0111bba5596147a26cb\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+x\n',
    )
  })

  t.test('spans from before the first change to after the last', async t => {
    t.match(diffOf(['/w/a', '1\n', '2\n'], ['/w/a', '2\n', '3\n']), /@@ -1 \+1 @@\n-1\n\+3\n$/)
    t.equal(diffOf(['/w/a', '1\n', '2\n'], ['/w/a', '2\n', '1\n']), '')
    t.equal(diffOf(['/w/a', null, '2\n'], ['/w/a', '2\n', null]), '')
    t.match(
      diffOf(['/w/a', '1\n', null], ['/w/b', null, '1\n'], ['/w/b', '1\n', null], ['/w/c', null, '1\n']),
      /^diff --git a\/a b\/c\nrename from a\nrename to c\n$/,
    )
    t.equal(diffOf(), '')
  })

  t.test('shows what is no text, is empty or lies elsewhere by its name', async t => {
    t.match(diffOf(['/w/x', null, Buffer.from([0, 1])]), /\nBinary files \/dev\/null and b\/x differ\n$/)
    t.match(diffOf(['/w/x', 'a\n', Buffer.from([0xff])]), /\nBinary files a\/x and b\/x differ\n$/)
    t.match(
      diffOf(['/w/x', null, '']),
      /^diff --git a\/x b\/x\nnew file mode 100644\nindex 0{40}\.\.e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n$/,
    )
    t.match(diffOf(['/elsewhere/x', null, 'a\n']), /^diff --git a\/elsewhere\/x b\/elsewhere\/x\n/)
    t.match(diffOf(['/w/a\u202eb', null, 'a\n']), /a\/a\\u\{202e\}b/)
  })

  t.test('stays bounded', async t => {
    const big = 'x\n'.repeat(600_000)
    t.match(diffOf(['/w/big', big, `${big}y\n`]), /differ\n$/)
    const half = 'y'.repeat(900_000)
    const many = diffOf(...Array.from({ length: 6 }, (_, i) => [`/w/${i}`, null, `${half}\n`] as const))
    t.ok(many.length < 4.1 * 1024 * 1024)
    t.match(many.slice(-60), /the diff is longer/)
    const files = Array.from({ length: 200 }, (_, i) => [`/w/f${i}`, `${i}\n`.repeat(50), null] as const)
    t.equal(diffOf(...files).match(/^diff --git/gm)?.length, 200)
  })

  t.test('is one that git can apply', async t => {
    const cwd = realpathSync(t.testdir({ 'a.txt': 'one\ntwo\nthree', sub: { 'b.txt': 'x\r\ny\r\n' }, gone: 'bye\n' }))
    const after: Readonly<Record<string, string>> = { 'a.txt': 'one\n2\nthree', 'sub/b.txt': 'x\r\nz\r\n', new: 'n' }
    const diff = new TurnDiff(cwd)
    for (const [name, text] of Object.entries(after)) {
      diff.add(join(cwd, name), name === 'new' ? null : readFileSync(join(cwd, name)), Buffer.from(text))
    }
    diff.add(join(cwd, 'gone'), readFileSync(join(cwd, 'gone')), null)
    writeFileSync(join(cwd, 'p'), diff.text())
    execFileSync('git', ['apply', '-p1', 'p'], {
      cwd,
      env: { PATH: process.env.PATH, HOME: cwd, GIT_CEILING_DIRECTORIES: join(cwd, '..') },
    })
    for (const [name, text] of Object.entries(after)) t.equal(readFileSync(join(cwd, name), 'utf8'), text)
    t.throws(() => readFileSync(join(cwd, 'gone')))
  })

  t.test('names files from the repository around', async t => {
    const root = realpathSync(t.testdir({ sub: { deep: {} } }))
    mkdirSync(join(root, '.git'))
    t.equal(diffRoot(join(root, 'sub/deep')), root)
    t.equal(diffRoot('/'), '/')
  })
})
