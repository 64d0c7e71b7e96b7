import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { CommandItem } from '../../../src/engine/items.ts'
import { execCommand, shellCommand } from '../../../src/engine/tools/exec-tools.ts'
import type { ToolHost } from '../../../src/engine/tools/host.ts'
import { Processes } from '../../../src/engine/tools/processes.ts'
import { Shell } from '../../../src/engine/tools/shell.ts'
import type { Grants } from '../../../src/engine/tools/tool.ts'
import { call, completed, deltas, FREE, fakeTurn, textOf, WORKSPACE } from './fake-context.ts'

const processes = new Processes()
const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: tmpdir() }
const host: ToolHost = { processes, shell: new Shell(processes, env), umask: 0o022, tmpdir: tmpdir() }
const exec = execCommand(host)
const shell = shellCommand(host)

t.teardown(() => processes.close())

/** Chunk ids and times differ from run to run. */
const plain = (text: string): string =>
  text.replace(/Chunk ID: [0-9a-f]{6}\n/, 'Chunk ID: <HEX>\n').replace(/Wall time: [\d.]+/g, 'Wall time: <SECS>')

const item = (cwd: string, more: Partial<CommandItem>): CommandItem => ({
  type: 'command',
  id: 'call_1',
  command: '',
  cwd,
  processId: null,
  source: 'agent',
  status: 'inProgress',
  actions: [],
  output: null,
  exitCode: null,
  durationMs: null,
  ...more,
})

/** An item without what differs from run to run. */
const steady = (value: object | undefined): object => ({
  ...value,
  durationMs: null,
  ...('processId' in (value ?? {}) ? { processId: null } : {}),
})

t.test('exec_command', async t => {
  t.test('tells item and model what codex tells them', async t => {
    const cwd = t.testdir({ 'a.txt': 'one\n' })
    const { cx, said } = fakeTurn({ cwd })
    const result = await exec.run(call('exec_command', { cmd: 'echo hi; sleep 0.1; echo err >&2' }), cx)
    t.equal(
      plain(textOf(result)),
      'Chunk ID: <HEX>\nWall time: <SECS> seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\nhi\nerr\n',
    )
    t.match(textOf(result), /Wall time: 0\.\d{4} seconds/)
    t.equal(result.isError, false)
    const started = item(cwd, {
      source: 'sessionStartup',
      command: "/bin/bash -lc 'echo hi; sleep 0.1; echo err >&2'",
      actions: [{ type: 'unknown', command: 'echo hi; sleep 0.1; echo err >&2' }],
    })
    const [first, ...rest] = said
    t.same(
      { ...first, item: steady(first?.say === 'started' ? first.item : undefined) },
      { say: 'started', item: started },
    )
    t.match(first, { item: { processId: /^\d{4,}$/ } })
    t.same(rest.slice(0, -1), [
      { say: 'delta', id: 'call_1', delta: 'hi\n' },
      { say: 'delta', id: 'call_1', delta: 'err\n' },
    ])
    t.same(steady(completed(said)), { ...started, status: 'completed', output: 'hi\nerr\n', exitCode: 0 })
    t.match(completed(said), { durationMs: Number })
  })

  t.test('shows a failed command with its code, and no output as null', async t => {
    const { cx, said } = fakeTurn({ cwd: t.testdir() })
    const result = await exec.run(call('exec_command', { cmd: 'exit 3' }), cx)
    t.equal(
      plain(textOf(result)),
      'Chunk ID: <HEX>\nWall time: <SECS> seconds\nProcess exited with code 3\nOriginal token count: 0\nOutput:\n',
    )
    t.match(completed(said), { status: 'failed', output: null, exitCode: 3, command: "/bin/bash -lc 'exit 3'" })
  })

  t.test('runs where and how it is told', async t => {
    const cwd = t.testdir({ sub: {} })
    const run = async (args: object): Promise<string> => {
      const text = textOf(await exec.run(call('exec_command', args), fakeTurn({ cwd }).cx))
      return text.slice(text.indexOf('Output:\n') + 8)
    }
    t.equal(await run({ cmd: 'pwd', workdir: 'sub' }), `${join(cwd, 'sub')}\n`)
    t.equal(
      await run({ cmd: 'pwd', workdir: null, shell: null, login: null, tty: true, yield_time_ms: '5' }),
      `${cwd}\n`,
    )
    t.equal(await run({ cmd: 'echo $0', shell: '/bin/sh' }), '/bin/sh\n')
    t.equal(await run({ cmd: 'echo $TERM $PAGER', login: false }), 'dumb cat\n')
    t.equal(await run({ cmd: 'cat; tty || true' }), 'not a tty\n')
    t.equal(
      await run({ cmd: 'seq 1 9', max_output_tokens: 2 }),
      'Warning: truncated output (original token count: 5)\nTotal output lines: 9\n\n1\n2\n…3 tokens truncated…8\n9\n',
    )
    t.equal(await run({ cmd: "printf '\\xff\\xfe\\x00\\x1b[31mred\\n'" }), '\ufffd\ufffd\0\u001b[31mred\n')
  })

  t.test('answers bad arguments as codex does, without an item', async t => {
    const { cx, said } = fakeTurn({ cwd: t.testdir() })
    const run = async (args: string): Promise<string> => textOf(await exec.run(call('exec_command', args), cx))
    t.equal(await run('{"bogus":1}'), 'failed to parse function arguments: missing field `cmd` at line 1 column 11')
    t.equal(await run('{"cmd":null}'), 'failed to parse function arguments: missing field `cmd` at line 1 column 12')
    t.match(await run('{"cmd":5}'), /^failed to parse function arguments: invalid type: integer `5`, expected a string/)
    t.equal(await run(''), 'failed to parse function arguments: EOF while parsing a value at line 1 column 0')
    t.match(await run('{"cmd": "echo hi'), /^failed to parse function arguments: /)
    t.match(await run('[]'), /^failed to parse function arguments: invalid type: sequence, expected an object/)
    t.match(await run('null'), /^failed to parse function arguments: invalid type: null/)
    t.match(await run('{"cmd":"x","login":"maybe"}'), /expected a boolean/)
    t.match(await run('{"cmd":"x","max_output_tokens":-1}'), /expected u64/)
    t.match(await run('{"__proto__":{"cmd":"id"}}'), /missing field `cmd`/)
    t.same(said, [])
  })

  t.test('that cannot start is a failed item that says why', async t => {
    const cwd = t.testdir({ file: '' })
    const run = async (args: object): Promise<readonly [string, string | null | undefined, string]> => {
      const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, { type: 'accept' })
      const text = textOf(await exec.run(call('exec_command', args), cx))
      const last = completed(said)
      t.equal(last?.type === 'command' ? last.status : null, 'failed')
      const output = last?.type === 'command' ? last.output : null
      t.equal(deltas(said), output)
      return [text, output, said.map(each => each.say).join(' ')]
    }
    t.same(await run({ cmd: 'ls', workdir: 'nowhere' }), [
      'exec_command failed for `/bin/bash -lc ls`: CreateProcess { message: "No such file or directory (os error 2)" }',
      'No such file or directory (os error 2)\n',
      'started delta completed',
    ])
    t.match((await run({ cmd: 'ls', workdir: 'file' }))[1], /Not a directory/)
    t.match((await run({ cmd: 'ls', shell: '/no/such' }))[1], 'there is no shell /no/such\n')
    t.match((await run({ cmd: 'ls\0' }))[1], /null byte/i)
    t.match((await run({ cmd: `: ${'x'.repeat(200_000)}` }))[1], /E2BIG/)
  })

  t.test('of a patch in a heredoc is a change of files', async t => {
    const cwd = t.testdir({ sub: {} })
    const { cx, said } = fakeTurn({ cwd })
    const cmd = "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: h.txt\n+x\n*** End Patch\nEOF"
    const result = await exec.run(call('exec_command', { cmd }), cx)
    t.equal(
      plain(textOf(result)),
      'Wall time: <SECS> seconds\nOutput:\nExit code: 0\nWall time: <SECS> seconds\nOutput:\nSuccess. Updated the following files:\nA h.txt\n',
    )
    const path = join(cwd, 'sub/h.txt')
    const changes = [{ path, kind: 'add', movePath: null, diff: 'x\n' }]
    t.same(said, [
      { say: 'started', item: { type: 'fileChange', id: 'call_1', changes, status: 'inProgress' } },
      { say: 'completed', item: { type: 'fileChange', id: 'call_1', changes, status: 'completed' } },
      { say: 'file', path, before: null, after: 'x\n' },
    ])
    const bad = await exec.run(call('exec_command', { cmd: "apply_patch <<'EOF'\nnonsense\nEOF" }), cx)
    t.equal(
      textOf(bad),
      "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'",
    )
    const bare = await exec.run(
      call('exec_command', { cmd: '*** Begin Patch\n*** Add File: b\n+x\n*** End Patch' }),
      cx,
    )
    t.match(textOf(bare), /^apply_patch verification failed: patch detected without explicit call to apply_patch/)
    t.notOk(existsSync(join(cwd, 'b')))
  })
})

t.test('shell_command', async t => {
  const run = async (args: object, cwd = t.testdirName): Promise<string> =>
    textOf(await shell.run(call('shell_command', args), fakeTurn({ cwd }).cx))
  const cwd = t.testdir()

  t.test('has a result text of its own, and no process id', async t => {
    const { cx, said } = fakeTurn({ cwd })
    const text = textOf(await shell.run(call('shell_command', { command: 'echo hi; exit 3' }), cx))
    t.equal(plain(text), 'Exit code: 3\nWall time: <SECS> seconds\nOutput:\nhi\n')
    t.match(text, /Wall time: \d+(\.\d)? seconds/)
    t.match(completed(said), { processId: null, source: 'agent', status: 'failed', output: 'hi\n', exitCode: 3 })
  })

  t.test('is stopped after its time', async t => {
    const { cx, said } = fakeTurn({ cwd })
    const text = textOf(await shell.run(call('shell_command', { command: 'echo a; sleep 60', timeout_ms: 300 }), cx))
    t.equal(
      plain(text),
      'Exit code: 124\nWall time: <SECS> seconds\nOutput:\ncommand timed out after 300 milliseconds\na\n',
    )
    t.match(completed(said), { status: 'failed', exitCode: 124, output: 'a\n' })
  })

  t.test('says how many lines there were when it shows a part', async t => {
    t.match(
      plain(await run({ command: 'seq 1 20000' }, cwd)),
      /^Exit code: 0\nWall time: <SECS> seconds\nTotal output lines: 20000\nOutput:\n1\n2\n.*\d+ tokens truncated….*20000\n$/s,
    )
  })

  t.test('refuses and fails in words of its own', async t => {
    t.match(await run({ cmd: 'x' }), /missing field `command`/)
    t.equal(
      await run({ command: 'ls', workdir: '/no/such' }),
      'execution error: No such file or directory (os error 2)',
    )
    const declined = fakeTurn({ cwd, approvalPolicy: 'untrusted' })
    t.equal(
      textOf(await shell.run(call('shell_command', { command: 'touch b' }), declined.cx)),
      'exec command rejected by user',
    )
  })
})

t.test('an approval', async t => {
  const cmd = 'touch made && echo made'
  const grants = (): Grants => ({ exact: new Set(), prefixes: [] })
  const ask = (cwd: string, more: object = {}): object => ({
    type: 'command',
    itemId: 'call_1',
    command: `/bin/bash -lc '${cmd}'`,
    cwd,
    reason: null,
    actions: [{ type: 'unknown', command: cmd }],
    prefix: null,
    ...more,
  })

  t.test('that is given lets the command run, under the same item', async t => {
    const cwd = t.testdir()
    const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'untrusted', sandbox: WORKSPACE }, () => {
      t.notOk(existsSync(join(cwd, 'made')), 'nothing has run before')
      return { type: 'accept' }
    })
    await exec.run(call('exec_command', { cmd }), cx)
    t.same(
      said.map(each => each.say),
      ['started', 'ask', 'delta', 'completed'],
    )
    t.match(said[0], { item: { status: 'inProgress', source: 'agent', processId: null } })
    t.match(said[1], { ask: ask(cwd, { turnId: cx.turnId, startedAt: Number }) })
    t.match(completed(said), { status: 'completed', output: 'made\n', processId: /^\d+$/, source: 'sessionStartup' })
    t.ok(existsSync(join(cwd, 'made')))
  })

  t.test('that is refused leaves an item which says so', async t => {
    const cwd = t.testdir()
    for (const decision of [
      { type: 'decline', message: null },
      { type: 'cancel' },
      { type: 'acceptPrefix', prefix: ['touch'] },
      { type: 'result', success: true, content: [] },
    ] as const) {
      const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, decision)
      const result = await exec.run(call('exec_command', { cmd }), cx)
      t.equal(
        textOf(result),
        `exec_command failed for \`/bin/bash -lc '${cmd}'\`: CreateProcess { message: "Rejected(\\"rejected by user\\")" }`,
        decision.type,
      )
      t.match(completed(said), { status: 'declined', output: '(not run: declined)', exitCode: null, durationMs: null })
      t.equal(said.filter(each => each.say === 'completed').length, 1)
    }
    const { cx } = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, { type: 'decline', message: 'nobody is here' })
    t.match(textOf(await exec.run(call('exec_command', { cmd }), cx)), /nobody is here/)
    t.notOk(existsSync(join(cwd, 'made')))
  })

  t.test('for the session holds for this command in this folder only', async t => {
    const cwd = t.testdir({ sub: {} })
    const held = grants()
    const asks = async (args: object): Promise<boolean> => {
      const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, { type: 'acceptForSession' }, held)
      await exec.run(call('exec_command', args), cx)
      return said.some(each => each.say === 'ask')
    }
    t.equal(await asks({ cmd }), true)
    t.equal(await asks({ cmd }), false)
    t.equal(await asks({ cmd: `${cmd} ` }), true)
    t.equal(await asks({ cmd, workdir: 'sub' }), true)
    t.equal(await asks({ cmd, shell: '/bin/sh' }), true)
    t.same(held.prefixes, [])
  })

  t.test('of a prefix holds for what has the same prefix', async t => {
    const cwd = t.testdir()
    const held = grants()
    const asked = async (args: object): Promise<unknown> => {
      const decide = { type: 'acceptPrefix', prefix: ['touch'] } as const
      const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, decide, held)
      await exec.run(call('exec_command', args), cx)
      const ask = said.find(each => each.say === 'ask')
      return ask?.say === 'ask' && ask.ask.type === 'command' ? ask.ask.prefix : 'not asked'
    }
    t.same(await asked({ cmd: 'touch a' }), ['touch'])
    t.same(held.prefixes, [['touch']])
    t.equal(await asked({ cmd: 'touch b c' }), 'not asked')
    t.same(await asked({ cmd: 'touch d; id' }), null)
    t.same(await asked({ cmd: 'touch e', shell: '/bin/cat' }), null)
    t.notOk(existsSync(join(cwd, 'd')))
  })

  t.test('is not needed for what only reads, if it is what it seems', async t => {
    const bin = t.testdir({ ls: '#!/bin/sh\necho evil > made\n' })
    const asks = async (args: object, on: ToolHost): Promise<boolean> => {
      const { cx, said } = fakeTurn({ cwd: bin, approvalPolicy: 'untrusted' })
      await execCommand(on).run(call('exec_command', args), cx)
      return said.some(each => each.say === 'ask')
    }
    t.equal(await asks({ cmd: 'ls' }, host), false)
    t.equal(await asks({ cmd: 'ls', sandbox_permissions: 'require_escalated' }, host), true)
    chmodSync(join(bin, 'ls'), 0o755)
    t.equal(await asks({ cmd: 'ls', shell: join(bin, 'ls') }, host), true)
    for (const PATH of [`.:${env.PATH}`, `${env.PATH}:`, 'bin']) {
      const relative = { ...host, shell: new Shell(processes, { ...env, PATH }) }
      t.equal(await asks({ cmd: 'ls', login: false }, relative), true, PATH)
    }
  })

  t.test('shows why, and hides nothing behind invisible characters', async t => {
    const cwd = t.testdir()
    const args = {
      cmd: 'touch a \u202e\u0007',
      justification: 'Need\u202e it',
      sandbox_permissions: 'require_escalated',
      prefix_rule: ['touch'],
    }
    const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'on-request', sandbox: FREE })
    await exec.run(call('exec_command', args), cx)
    t.match(said[1], {
      ask: { command: "/bin/bash -lc 'touch a \\u{202e}\\u{7}'", reason: 'Need\\u{202e} it', prefix: null },
    })
    t.match(said[0], { item: { command: "/bin/bash -lc 'touch a \\u{202e}\\u{7}'" } })
  })

  t.test('that cannot be had is refused, and the model is told why', async t => {
    const cwd = t.testdir()
    const { cx, said } = fakeTurn({ cwd, approvalPolicy: 'never', sandbox: WORKSPACE })
    const result = await exec.run(call('exec_command', { cmd: 'touch a' }), cx)
    t.equal(
      textOf(result),
      'exec_command failed for `/bin/bash -lc \'touch a\'`: CreateProcess { message: "Rejected(\\"it would have to run in a sandbox, which is not available here, and the approval policy is never\\")" }',
    )
    t.match(completed(said), { status: 'declined', output: /^\(not run: it would have to run in a sandbox/ })
    t.match(
      textOf(
        await exec.run(
          call('exec_command', { cmd: 'ls' }),
          fakeTurn({ cwd, approvalPolicy: 'never', sandbox: WORKSPACE }).cx,
        ),
      ),
      /exited with code 0/,
    )
    t.notOk(existsSync(join(cwd, 'a')))
  })
})

t.test('an interrupt', async t => {
  t.test('ends the command, its item and its result', async t => {
    const cwd = t.testdir()
    const { cx, said, abort } = fakeTurn({ cwd })
    const cmd = 'trap "" TERM; echo begun; echo $$ > pid; while :; do sleep 0.05; done'
    const running = exec.run(call('exec_command', { cmd }), cx)
    const pid = join(cwd, 'pid')
    for (let i = 0; i < 300 && !(existsSync(pid) && readFileSync(pid, 'utf8') && deltas(said)); i++) await sleep(20)
    abort.abort()
    const result = await running
    t.equal(plain(textOf(result)), 'Wall time: <SECS> seconds\naborted by user')
    t.match(completed(said), { status: 'failed', output: 'begun\n', exitCode: 1 })
    t.equal(said.filter(each => each.say === 'completed').length, 1)
    const shellPid = Number(readFileSync(pid, 'utf8'))
    const lives = (): boolean =>
      existsSync(`/proc/${shellPid}`) && !/\) Z /.test(readFileSync(`/proc/${shellPid}/stat`, 'utf8'))
    for (let i = 0; i < 300 && lives(); i++) await sleep(20)
    t.notOk(lives(), 'one that ignores requests is killed')
    const seen = said.length
    await sleep(50)
    t.equal(said.length, seen, 'nothing comes after')
  })

  t.test('does not wait for start-up files that hang', async t => {
    const home = t.testdir({ '.bash_profile': 'sleep 7601' })
    const hanging = { ...host, shell: new Shell(processes, { ...env, HOME: home }, 5_000) }
    const { cx, said, abort } = fakeTurn({ cwd: home })
    const running = execCommand(hanging).run(call('exec_command', { cmd: 'touch a' }), cx)
    await sleep(20)
    abort.abort()
    t.match(textOf(await running), /aborted by user/)
    t.same(said, [])
    await processes.stopOwner('login')
    t.notOk(existsSync(join(home, 'a')))
  })

  t.test('before the start, or with the answer, runs nothing', async t => {
    const cwd = t.testdir()
    const early = fakeTurn({ cwd })
    early.abort.abort()
    t.match(textOf(await exec.run(call('exec_command', { cmd: 'touch a' }), early.cx)), /aborted by user/)
    t.same(early.said, [])
    const late = fakeTurn({ cwd, approvalPolicy: 'untrusted' }, () => {
      late.abort.abort()
      return { type: 'accept' }
    })
    await exec.run(call('exec_command', { cmd: 'touch a' }), late.cx)
    t.match(completed(late.said), { status: 'declined' })
    t.notOk(existsSync(join(cwd, 'a')))
  })
})

t.test('hostile and large output', async t => {
  t.test('keeps memory and events bounded', async t => {
    const { cx, said } = fakeTurn({ cwd: t.testdir() })
    const before = process.memoryUsage().rss
    const result = await exec.run(
      call('exec_command', { cmd: 'head -c 200000000 /dev/zero | tr "\\0" a; echo; echo END' }),
      cx,
    )
    t.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024)
    const last = completed(said)
    const output = last?.type === 'command' ? (last.output ?? '') : ''
    t.equal(deltas(said), output)
    t.ok(Buffer.byteLength(output) <= 1024 * 1024 + 100)
    t.ok(output.endsWith('END\n'))
    t.match(textOf(result), /Original token count: 50000002\n/)
    t.ok(textOf(result).length < 41_000)
  })

  t.test('of twenty commands at once stays with its item', async t => {
    const cwd = t.testdir()
    writeFileSync(join(cwd, 'x'), '')
    const { cx, said } = fakeTurn({ cwd })
    const calls = Array.from({ length: 20 }, (_, i) => ({
      ...call('exec_command', { cmd: `echo ${i}; sleep 0.05; echo ${i}` }),
      id: `c${i}`,
    }))
    await Promise.all(calls.map(each => exec.run(each, cx)))
    for (let i = 0; i < 20; i++) {
      const mine = said.filter(each => ('item' in each ? each.item.id : 'id' in each ? each.id : '') === `c${i}`)
      t.equal(deltas(mine), `${i}\n${i}\n`)
    }
  })
})
