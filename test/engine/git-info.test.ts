import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readGitInfo } from '../../src/engine/git-info.ts'

const SHA = '5b5412bf42e4c253930bb7ad73361653cd60154f'
const OTHER = 'a'.repeat(40)

/** A folder with these files. */
function folder(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'skein-git-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return root
}

const HEAD = { '.git/HEAD': 'ref: refs/heads/feature/x\n' }

t.test('it reads commit, branch and remote, from any folder of the repository', async t => {
  const root = folder({
    ...HEAD,
    '.git/refs/heads/feature/x': `${SHA}\n`,
    '.git/config':
      '[core]\n\tbare = false\n[remote "upstream"]\n\turl = https://example.com/u.git\n[remote "origin"]\n\turl = https://example.com/r.git\n',
    'a/b/file': '',
  })
  const info = { sha: SHA, branch: 'feature/x', originUrl: 'https://example.com/r.git' }
  t.strictSame(
    [readGitInfo(root), readGitInfo(join(root, 'a/b')), readGitInfo(join(root, 'not/there'))],
    [info, info, info],
  )
})

t.test('it finds packed branches, detached heads, and a branch without a commit', async t => {
  const packed = folder({
    ...HEAD,
    '.git/packed-refs': `# pack-refs with: peeled\n${OTHER} refs/heads/feature\n${SHA} refs/heads/feature/x\n^${OTHER}\n`,
  })
  t.strictSame(readGitInfo(packed), { sha: SHA, branch: 'feature/x', originUrl: null })
  t.strictSame(readGitInfo(folder({ '.git/HEAD': `${SHA}\n` })), { sha: SHA, branch: null, originUrl: null })
  t.strictSame(readGitInfo(folder(HEAD)), { sha: null, branch: 'feature/x', originUrl: null })
})

t.test('it follows a worktree to the repository it belongs to', async t => {
  const root = folder({
    'main/.git/HEAD': 'ref: refs/heads/main\n',
    'main/.git/refs/heads/side': `${SHA}\n`,
    'main/.git/config': '[remote "origin"]\n  url = "git@example.com:r.git"\n',
    'main/.git/worktrees/side/HEAD': 'ref: refs/heads/side\n',
    'main/.git/worktrees/side/commondir': '../..\n',
    'side/.git': 'gitdir: ../main/.git/worktrees/side\n',
  })
  t.strictSame(readGitInfo(join(root, 'side')), { sha: SHA, branch: 'side', originUrl: 'git@example.com:r.git' })
})

t.test('it keeps passwords to itself', async t => {
  const root = folder({ ...HEAD, '.git/config': '[remote "origin"]\nurl = https://me:secret@example.com/r.git\n' })
  t.equal(readGitInfo(root)?.originUrl, 'https://me@example.com/r.git')
})

t.test('it takes no harm from a repository that means some', async t => {
  t.equal(readGitInfo(folder({ file: '' })), null)
  const climbing = folder({ '.git/HEAD': 'ref: refs/../../secret\n', secret: SHA })
  t.strictSame(readGitInfo(climbing), { sha: null, branch: null, originUrl: null })
  const circle = folder({ ...HEAD, '.git/refs/heads/feature/x': 'ref: refs/heads/feature/x\n' })
  t.strictSame(readGitInfo(circle), { sha: null, branch: 'feature/x', originUrl: null })
  const noise = folder({ '.git/HEAD': '\0\xff nonsense', '.git/config': '[remote "origin"\nurl' })
  t.strictSame(readGitInfo(noise), { sha: null, branch: null, originUrl: null })
  const pipe = folder({ '.git/x': '' })
  if (spawnSync('mkfifo', [join(pipe, '.git/HEAD')]).status === 0)
    t.equal(readGitInfo(pipe), null, 'a FIFO is not waited for')
})
