import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Decision } from '../../../src/engine/approvals.ts'
import type { ThreadSettings } from '../../../src/engine/events.ts'
import { applyPatch, writableRoots } from '../../../src/engine/tools/apply-patch.ts'
import type { ToolHost } from '../../../src/engine/tools/host.ts'
import { Processes } from '../../../src/engine/tools/processes.ts'
import { Shell } from '../../../src/engine/tools/shell.ts'
import type { Grants, ToolCall } from '../../../src/engine/tools/tool.ts'
import { type Fake, FREE, fakeTurn, textOf, WORKSPACE } from './fake-context.ts'

const processes = new Processes()
const host: ToolHost = { processes, shell: new Shell(processes, {}), umask: 0o022, tmpdir: tmpdir() }
const tool = applyPatch(host, true)

const wrap = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n')
const patchCall = (args: string, freeform = true): ToolCall => ({
  id: 'call_1',
  name: 'apply_patch',
  namespace: null,
  args,
  freeform,
})
const plain = (text: string): string => text.replace(/Wall time: [\d.]+/, 'Wall time: <SECS>')

/** Applies one patch and gives what the model was told, with all that was said. */
async function patch(
  settings: Partial<ThreadSettings>,
  lines: readonly string[],
  decision?: Decision,
  grants?: Grants,
): Promise<Fake & { text: string }> {
  const fake = fakeTurn(settings, decision, grants)
  return { ...fake, text: plain(textOf(await tool.run(patchCall(wrap(...lines)), fake.cx))) }
}

const NEW = ['*** Add File: new.txt', '+hello', '+world']

t.test('a patch', async t => {
  t.test('that may be applied is, and says so in the words of codex', async t => {
    const cwd = realpathSync(t.testdir({ 'a.txt': 'one\ntwo\n', 'b.txt': 'bye\n' }))
    const lines = [
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
    const { text, said } = await patch({ cwd }, lines)
    t.equal(
      text,
      'Exit code: 0\nWall time: <SECS> seconds\nOutput:\nSuccess. Updated the following files:\nA n.txt\nM moved.txt\nD b.txt\n',
    )
    const at = (name: string): string => join(cwd, name)
    const changes = [
      {
        path: at('a.txt'),
        kind: 'update',
        movePath: at('moved.txt'),
        diff: `@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n\n\nMoved to: ${at('moved.txt')}`,
      },
      { path: at('b.txt'), kind: 'delete', movePath: null, diff: 'bye\n' },
      { path: at('n.txt'), kind: 'add', movePath: null, diff: 'x\n' },
    ]
    t.same(said, [
      { say: 'started', item: { type: 'fileChange', id: 'call_1', changes, status: 'inProgress' } },
      { say: 'completed', item: { type: 'fileChange', id: 'call_1', changes, status: 'completed' } },
      { say: 'file', path: at('n.txt'), before: null, after: 'x\n' },
      { say: 'file', path: at('a.txt'), before: 'one\ntwo\n', after: null },
      { say: 'file', path: at('moved.txt'), before: null, after: 'ONE\ntwo\n' },
      { say: 'file', path: at('b.txt'), before: 'bye\n', after: null },
    ])
  })

  t.test('that does not fit or parse has no item', async t => {
    const cwd = realpathSync(t.testdir())
    const update = await patch({ cwd }, ['*** Update File: a.txt', '@@', '-one'])
    t.equal(
      update.text,
      `apply_patch verification failed: Failed to read file to update ${cwd}/a.txt: No such file or directory (os error 2)`,
    )
    t.same(update.said, [])
    const { cx, said } = fakeTurn({ cwd })
    const garbage = textOf(await tool.run(patchCall('garbage'), cx))
    t.equal(
      garbage,
      "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'",
    )
    t.equal((await patch({ cwd }, [])).text, 'patch rejected: empty patch')
    t.same(said, [])
  })

  t.test('is taken as a function argument, however the model wraps it', async t => {
    const cwd = realpathSync(t.testdir())
    const asFunction = applyPatch(host, false)
    const run = async (args: string, freeform: boolean): Promise<string> =>
      plain(textOf(await asFunction.run(patchCall(args, freeform), fakeTurn({ cwd }).cx)))
    for (const [args, freeform] of [
      [JSON.stringify({ input: wrap(...NEW) }), false],
      [wrap(...NEW), false],
      [wrap(...NEW), true],
    ] as const) {
      t.match(await run(args, freeform), /Success\. Updated the following files:\nA new\.txt\n$/)
      rmSync(join(cwd, 'new.txt'))
    }
    t.equal(
      await run('{"patch":1}', false),
      'failed to parse function arguments: missing field `input` at line 1 column 11',
    )
    t.ok('parameters' in asFunction.spec && !('grammar' in asFunction.spec))
    t.ok('grammar' in tool.spec && !('parameters' in tool.spec))
  })

  t.test('that fails to be written is a failed item', async t => {
    const cwd = realpathSync(t.testdir({ a: 'one\n' }))
    const fake = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, () => {
      writeFileSync(join(cwd, 'a'), 'other\n')
      return { type: 'accept' }
    })
    const result = await tool.run(patchCall(wrap('*** Update File: a', '@@', '-one', '+two')), fake.cx)
    t.equal(
      plain(textOf(result)),
      `Exit code: 1\nWall time: <SECS> seconds\nOutput:\nFailed to find expected lines in ${cwd}/a:\none\n`,
    )
    t.match(fake.said.at(-1), { say: 'completed', item: { status: 'failed' } })
    t.equal(readFileSync(join(cwd, 'a'), 'utf8'), 'other\n')
  })

  t.test('of an interrupted turn does nothing', async t => {
    const cwd = realpathSync(t.testdir())
    const early = fakeTurn({ cwd })
    early.abort.abort()
    await tool.run(patchCall(wrap(...NEW)), early.cx)
    t.same(early.said, [])
    const late = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, () => {
      late.abort.abort()
      return { type: 'accept' }
    })
    await tool.run(patchCall(wrap(...NEW)), late.cx)
    t.match(late.said.at(-1), { say: 'completed', item: { status: 'declined' } })
    t.same(readdirSync(cwd), [])
  })
})

t.test('an approval of a patch', async t => {
  t.test('is asked for after the item has started', async t => {
    const cwd = realpathSync(t.testdir())
    const { said, cx, text } = await patch({ cwd, approvalPolicy: 'untrusted', sandbox: WORKSPACE }, NEW, {
      type: 'accept',
    })
    t.same(
      said.map(each => each.say),
      ['started', 'ask', 'completed', 'file'],
    )
    const changes = [{ path: join(cwd, 'new.txt'), kind: 'add', movePath: null, diff: 'hello\nworld\n' }]
    t.match(said[1], {
      ask: { type: 'fileChange', turnId: cx.turnId, itemId: 'call_1', startedAt: Number, reason: null, changes },
    })
    t.match(text, /Success/)
  })

  t.test('that is not given declines the item and changes nothing', async t => {
    const cwd = realpathSync(t.testdir())
    const decisions: readonly Decision[] = [
      { type: 'decline', message: null },
      { type: 'cancel' },
      { type: 'acceptPrefix', prefix: ['x'] },
      { type: 'result', success: true, content: [] },
    ]
    for (const decision of decisions) {
      const { said, text } = await patch({ cwd, approvalPolicy: 'untrusted' }, NEW, decision)
      t.equal(text, 'patch rejected by user', decision.type)
      t.match(said.at(-1), { say: 'completed', item: { status: 'declined' } })
    }
    t.equal(
      (await patch({ cwd, approvalPolicy: 'untrusted' }, NEW, { type: 'decline', message: 'nobody is here' })).text,
      'patch rejected by user: nobody is here',
    )
    t.same(readdirSync(cwd), [])
  })

  t.test('for the session holds for the same files, as long as they are the same', async t => {
    const base = realpathSync(t.testdir({ work: {}, out: { victim: 'x\n' } }))
    const cwd = join(base, 'work')
    const grants: Grants = { exact: new Set(), prefixes: [] }
    const asks = async (name: string): Promise<boolean> => {
      const lines = [`*** Add File: ${name}`, '+x']
      const { said } = await patch({ cwd, approvalPolicy: 'untrusted' }, lines, { type: 'acceptForSession' }, grants)
      return said.some(each => each.say === 'ask')
    }
    t.equal(await asks('new.txt'), true)
    t.equal(await asks('new.txt'), false)
    t.equal(await asks('./new.txt'), false)
    t.equal(await asks('other.txt'), true)
    rmSync(join(cwd, 'new.txt'))
    symlinkSync(join(base, 'out/victim'), join(cwd, 'new.txt'))
    t.equal(await asks('new.txt'), true, 'a link in its place is another file')
  })

  t.test('covers no file that came in between', async t => {
    const cwd = realpathSync(t.testdir({ work: { f: 'x\n' }, out: { victim: 'x\n' } }))
    const work = join(cwd, 'work')
    const fake = fakeTurn({ cwd: work, approvalPolicy: 'untrusted' }, () => {
      rmSync(join(work, 'f'))
      symlinkSync(join(cwd, 'out/victim'), join(work, 'f'))
      return { type: 'accept' }
    })
    const result = await tool.run(patchCall(wrap('*** Update File: f', '@@', '-x', '+y')), fake.cx)
    t.match(textOf(result), /a file of the patch was moved or replaced meanwhile/)
    t.equal(readFileSync(join(cwd, 'out/victim'), 'utf8'), 'x\n')
  })
})

t.test('outside of the workspace', async t => {
  const base = realpathSync(t.testdir({ work: { f: 'x\n' }, out: { victim: 'old\n' } }))
  const cwd = join(base, 'work')
  symlinkSync(join(base, 'out/victim'), join(cwd, 'link'))
  symlinkSync(join(base, 'out'), join(cwd, 'dirlink'))
  linkSync(join(base, 'out/victim'), join(cwd, 'hard'))
  const escapes: Readonly<Record<string, readonly string[]>> = {
    'a path upwards': ['*** Add File: ../up', '+x'],
    'an absolute path': [`*** Add File: ${join(base, 'out/abs')}`, '+x'],
    'a folder behind a link': ['*** Add File: dirlink/new', '+x'],
    'a file behind a link': ['*** Update File: link', '@@', '-old', '+new'],
    'a hard link': ['*** Update File: hard', '@@', '-old', '+new'],
    'a deletion of a link': ['*** Delete File: link'],
    'a move out': ['*** Update File: f', '*** Move to: ../moved', '@@', '-x', '+y'],
    'a hook of git': ['*** Add File: .git/hooks/pre-commit', '+evil'],
    'settings of codex': ['*** Add File: .codex/config.toml', '+evil'],
    'one of several files': ['*** Add File: good', '+x', '*** Add File: ../bad', '+x'],
  }
  const before = [readdirSync(base), readdirSync(join(base, 'out')), readdirSync(cwd)]
  for (const [name, lines] of Object.entries(escapes)) {
    await t.test(`${name} is asked for, and refused where nobody may be asked`, async t => {
      const asked = await patch({ cwd, approvalPolicy: 'on-request', sandbox: WORKSPACE }, lines)
      const ask = asked.said.find(each => each.say === 'ask')
      t.match(ask, { ask: { reason: String } })
      t.equal(asked.text, 'patch rejected by user')
      const never = await patch({ cwd, approvalPolicy: 'never', sandbox: WORKSPACE }, lines)
      t.match(never.text, /^patch rejected: .*; the approval policy is never$/)
      t.match(never.said.at(-1), { say: 'completed', item: { status: 'declined' } })
      t.notOk(never.said.some(each => each.say === 'ask'))
      t.same([readdirSync(base), readdirSync(join(base, 'out')), readdirSync(cwd)], before)
      t.equal(readFileSync(join(base, 'out/victim'), 'utf8'), 'old\n')
    })
  }

  t.test('is nothing that the settings count as inside', async t => {
    const inside = { ...WORKSPACE, writableRoots: [join(base, 'out')] }
    const settings = { cwd, approvalPolicy: 'never', sandbox: inside } as const
    t.match((await patch(settings, ['*** Add File: ../out/n', '+x'])).text, /Success/)
    t.match(
      (await patch({ ...settings, workspaceRoots: [base], sandbox: WORKSPACE }, ['*** Add File: ../m', '+x'])).text,
      /Success/,
    )
    t.match(
      (await patch({ cwd, approvalPolicy: 'never', sandbox: FREE }, ['*** Add File: ../k', '+x'])).text,
      /Success/,
    )
    t.match(
      (await patch({ cwd, approvalPolicy: 'on-request', sandbox: WORKSPACE }, ['*** Add File: inside', '+x'])).text,
      /Success/,
    )
    t.ok(existsSync(join(cwd, 'inside')))
    const readOnly = { type: 'readOnly', networkAccess: false } as const
    const refused = await patch({ cwd, approvalPolicy: 'never', sandbox: readOnly }, ['*** Add File: no', '+x'])
    t.equal(refused.text, 'patch rejected: the workspace is read-only; the approval policy is never')
    const roots = writableRoots(
      {
        ...fakeTurn({ cwd }).cx.settings,
        sandbox: { ...WORKSPACE, excludeSlashTmp: false, excludeTmpdirEnvVar: false, writableRoots: ['/r'] },
      },
      '/t',
    )
    t.same(roots, [cwd, '/r', '/tmp', '/t'])
  })

  t.test('is named without invisible characters, with what would be lost', async t => {
    const lines = ['*** Update File: f', '*** Move to: hard', '*** Add File: ../\u202ex', '+x']
    const { said } = await patch({ cwd, approvalPolicy: 'on-request', sandbox: WORKSPACE }, lines)
    const ask = said.find(each => each.say === 'ask')
    const reason = ask?.say === 'ask' && ask.ask.type === 'fileChange' ? ask.ask.reason : null
    t.match(reason, /replaces the existing file .*\/hard/)
    t.match(reason, /\\u\{202e\}x/)
    t.notMatch(reason, /\u202e/)
  })
})
