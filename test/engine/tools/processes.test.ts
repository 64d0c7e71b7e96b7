import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { MARK } from '../../../src/engine/tools/process-walk.ts'
import { type Ended, Processes, type Running, stopOrphans } from '../../../src/engine/tools/processes.ts'
import { Shell } from '../../../src/engine/tools/shell.ts'

const env = { PATH: process.env.PATH }

function run(processes: Processes, script: string, owner = 'turn'): { running: Running; output: () => string } {
  const chunks: Buffer[] = []
  const running = processes.start({
    argv: ['/bin/bash', '-c', script],
    cwd: '/',
    env,
    owner,
    onOutput: chunk => void chunks.push(chunk),
  })
  return { running, output: () => Buffer.concat(chunks).toString() }
}

/** Living processes whose command line says `text`. */
function living(text: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
        return line.includes(text) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
      } catch {
        return false
      }
    })
    .map(Number)
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 400 && !condition(); i++) await sleep(20)
}

t.test('a command', async t => {
  const processes = new Processes()
  t.teardown(() => processes.close())

  t.test('gives its output, both streams in order, and its exit code', async t => {
    const { running, output } = run(processes, 'echo a; echo b >&2; echo c; exit 3')
    t.same(await running.ended, { type: 'exited', code: 3 } satisfies Ended)
    t.equal(output(), 'a\nb\nc\n')
  })

  t.test('loses no output that comes just before its end', async t => {
    const { running, output } = run(processes, 'head -c 3000000 /dev/zero | tr "\\0" x; echo END')
    await running.ended
    t.equal(output().length, 3_000_004)
    t.ok(output().endsWith('END\n'))
  })

  t.test('is told of a signal as 128 and its number', async t => {
    t.same(await run(processes, 'kill -9 $$').running.ended, { type: 'exited', code: 137 })
  })

  t.test('reads an empty input', async t => {
    const { running, output } = run(processes, 'cat; echo done')
    await running.ended
    t.equal(output(), 'done\n')
  })

  t.test('that kills its parent hits the shim, and is stopped itself', async t => {
    const { running } = run(processes, 'kill -9 $PPID; exec sleep 7101')
    t.same(await running.ended, { type: 'exited', code: 137 })
    await until(() => living('7101').length === 0)
    t.same(living('7101'), [])
  })

  t.test('ends although what it left in the background holds its output, which goes on living', async t => {
    const { running, output } = run(processes, 'sleep 7102 & echo done', 'dev')
    t.same(await running.ended, { type: 'exited', code: 0 })
    t.equal(output(), 'done\n')
    t.equal(living('sleep\x007102').length, 1)
    await processes.stopOwner('dev')
    t.same(living('sleep\x007102'), [])
  })

  t.test('does not start for ever: trouble is an answer', async t => {
    const nul = processes.start({ argv: ['a\0b'], cwd: '/', env, owner: 'x', onOutput: () => {} })
    t.match(await nul.ended, { type: 'failed', message: /null byte/i })
    const huge = processes.start({ argv: ['a'.repeat(300_000)], cwd: '/', env, owner: 'x', onOutput: () => {} })
    t.match(await huge.ended, { type: 'failed', message: /E2BIG/ })
    const cwd = processes.start({ argv: ['ls'], cwd: '/no/such/folder', env, owner: 'x', onOutput: () => {} })
    t.match(await cwd.ended, { type: 'failed', message: /ENOENT/ })
    await Promise.all([nul.stop(), huge.stop(), cwd.stop()])
  })
})

t.test('stopping leaves nothing', async t => {
  const processes = new Processes()
  t.teardown(() => processes.close())
  const scripts = {
    'a plain command': 'sleep 7201',
    'one that ignores requests': 'trap "" TERM; sleep 7201; sleep 7201',
    'one whose children fled to sessions of their own':
      'setsid sleep 7201 & setsid bash -c "sleep 7201; true" & sleep 7201',
    'one whose child cleared its environment': 'env -i setsid sleep 7201 & wait',
    'a daemon that has no parent any more': '(setsid sleep 7201 >/dev/null 2>&1 &); sleep 7201',
  }
  for (const [name, script] of Object.entries(scripts)) {
    await t.test(`of ${name}`, async t => {
      const { running } = run(processes, script)
      await until(() => living('sleep\x007201').length > 0)
      t.not(living('sleep\x007201').length, 0)
      await sleep(50)
      await running.stop()
      t.same(living('sleep\x007201'), [])
      t.equal((await running.ended).type, 'exited')
    })
  }
})

t.test('an interrupted owner', async t => {
  const processes = new Processes()
  t.teardown(() => processes.close())
  const turn = new AbortController()
  processes.stopOnAbort(turn.signal, 'turn')
  processes.stopOnAbort(turn.signal, 'turn')
  await run(processes, '(setsid sleep 7301 >/dev/null 2>&1 &); sleep 0.1', 'turn').running.ended
  const other = run(processes, 'sleep 7302', 'other')
  t.equal(living('sleep\x007301').length, 1, 'a daemon outlives its command')
  turn.abort()
  await until(() => living('sleep\x007301').length === 0)
  t.same(living('sleep\x007301'), [], 'but not its turn')
  t.equal(living('sleep\x007302').length, 1, 'what others run is left alone')
  await processes.close()
  t.same(living('sleep\x007302'), [], 'until the server ends')
  await other.running.ended
})

t.test('what a dead server left behind is found by the next one', async t => {
  const mine = new Processes()
  t.teardown(() => mine.close())
  const { running } = run(mine, 'sleep 7401')
  const orphan = spawn('sleep', ['7402'], { env: { ...env, [MARK]: '999999-1-abcd.turn.1' }, stdio: 'ignore' })
  const gone = new Promise(resolve => orphan.once('exit', resolve))
  await stopOrphans()
  await gone
  t.same(living('sleep\x007402'), [])
  t.equal(living('sleep\x007401').length, 1, 'of a living server nothing is touched')
  await running.stop()
})

t.test('the shell', async t => {
  const home = t.testdir({ '.bash_profile': 'export FROM_PROFILE=yes\nexport MULTI=$"a\nb"\necho noise\n' })
  const processes = new Processes()
  t.teardown(() => processes.close())

  t.test('asks the login shell for its environment once', async t => {
    const shell = new Shell(processes, { PATH: '/usr/bin:/bin', HOME: home })
    const [login, again] = await Promise.all([shell.environment(true), shell.environment(true)])
    t.match(login, { FROM_PROFILE: 'yes', MULTI: 'a\nb', HOME: home, TERM: 'dumb', PAGER: 'cat' })
    t.same(again, login)
    writeFileSync(join(home, '.bash_profile'), 'export FROM_PROFILE=changed\n')
    t.same(await shell.environment(true), login)
    t.equal((await shell.environment(false)).FROM_PROFILE, undefined)
    t.equal(login[MARK], undefined)
  })

  t.test('does without when the start-up files hang, fail or empty the environment', async t => {
    for (const profile of ['sleep 7501', 'exit 1', 'exec false', 'unset PATH', '']) {
      writeFileSync(join(home, '.bash_profile'), profile)
      const shell = new Shell(processes, { PATH: '/usr/bin:/bin', HOME: home, OWN: 'x' }, 300)
      t.match(await shell.environment(true), { OWN: 'x', PATH: /\/usr\/bin/ }, profile)
    }
    await until(() => living('7501').length === 0)
    t.same(living('7501'), [])
  })

  t.test('finds the shells of the system, and others only by their path', async t => {
    const shell = new Shell(processes, {})
    const evil = join(home, 'bash')
    writeFileSync(evil, '#!/bin/sh\n', { mode: 0o755 })
    t.match(shell.find(null), { trusted: true })
    t.same(shell.find('bash')?.trusted, true)
    t.same(shell.find('/bin/sh'), { path: '/bin/sh', trusted: true })
    t.same(shell.find(evil), { path: evil, trusted: false })
    t.same(shell.find('/bin/cat'), { path: '/bin/cat', trusted: false })
    for (const none of ['python3', './bash', '../bash', '/no/such/bash', 'sh -c id'])
      t.equal(shell.find(none), null, none)
  })
})
