import { linkSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { realDisk } from '../../../src/engine/store/disk.ts'
import { Lock } from '../../../src/engine/store/lock.ts'
import { realMachine } from '../../../src/engine/store/machine.ts'
import { Store } from '../../../src/engine/store/store.ts'
import { FakeDisk, failure, fakeMachine } from './fake-disk.ts'
import { header } from './fake-log.ts'
import { race } from './lock-race.ts'

const LOG = '/home/log.jsonl'
const LOCK = `${LOG}.lock`

const take = (disk: FakeDisk, pid: number, alive: readonly number[]): Lock =>
  Lock.take({ disk, machine: fakeMachine(pid, new Set(alive)), path: LOG, id: 'T' })

const owner = (pid: number, nonce: string, more: object = {}): string =>
  JSON.stringify({ pid, start: '1', boot: 'b', host: 'h', space: '', nonce, ...more })

t.test('it lets one process have a log, names it to the others, and leaves nothing behind', async t => {
  const disk = new FakeDisk()
  const lock = take(disk, 1, [1, 2])
  t.equal(lock.held, true)
  t.throws(() => take(disk, 2, [1, 2]), {
    code: 'lockedElsewhere',
    message: 'thread T already has an active writer: process 1',
    data: { pid: 1 },
  })
  t.strictSame(disk.names(), [LOCK])
  lock.release()
  t.equal(lock.held, false)
  t.strictSame(disk.names(), [])
  t.equal(take(disk, 2, [1, 2]).held, true)
})

t.test('it takes a lock over from a dead process, and from one that died while it took it over', async t => {
  const disk = new FakeDisk()
  disk.put(LOCK, owner(7, 'dead'))
  disk.put(`${LOCK}.dead.next`, owner(8, 'dead-too'))
  disk.put(`${LOCK}.left`, owner(9, 'left'))
  const lock = take(disk, 1, [1])
  t.equal(lock.held, true)
  t.strictSame(disk.names(), [LOCK], 'what the dead left behind is gone')
  t.throws(() => take(disk, 2, [1, 2]), { code: 'lockedElsewhere' })
})

t.test('it waits for nobody who is taking it over right now', async t => {
  const disk = new FakeDisk()
  disk.put(LOCK, owner(7, 'dead'))
  disk.put(`${LOCK}.dead.next`, owner(2, 'quick'))
  t.throws(() => take(disk, 1, [1, 2]), { code: 'lockedElsewhere', data: { pid: 2 } })
  t.strictSame(disk.names(), [LOCK, `${LOCK}.dead.next`])
})

t.test('it takes a lock that a power cut emptied', async t => {
  const disk = new FakeDisk()
  for (const left of ['', '{"pid"', '[]', '{"pid":"1"}']) {
    disk.put(LOCK, left)
    t.equal(take(disk, 1, [1]).held, true, left)
  }
})

t.test('it never takes a lock from where it cannot look', async t => {
  const disk = new FakeDisk()
  disk.put(LOCK, owner(7, 'far', { host: 'elsewhere' }))
  t.throws(() => take(disk, 1, [1]), {
    code: 'lockedElsewhere',
    message: `thread T already has an active writer: process 7 of elsewhere; if that one is gone, remove ${LOCK}`,
  })
})

t.test('it notices when its lock is gone or another one stands there, and leaves that one alone', async t => {
  const disk = new FakeDisk()
  const first = take(disk, 1, [1])
  disk.unlink(LOCK)
  t.equal(first.held, false)
  const second = take(disk, 2, [1, 2])
  first.release()
  t.equal(second.held, true)
})

t.test('it passes on what the disk says, and leaves nothing behind', async t => {
  const disk = new FakeDisk()
  disk.broken = 'EROFS'
  t.throws(() => take(disk, 1, [1]), failure('EROFS'))
  t.strictSame(disk.names(), [])
})

t.test('it knows its own process and that a pid alone is not a process', async t => {
  const { self } = realMachine
  t.equal(realMachine.judge(self), 'alive')
  t.equal(realMachine.judge({ ...self, start: '0' }), 'dead', 'another process with the same pid')
  t.equal(realMachine.judge({ ...self, boot: 'earlier' }), 'dead', 'before the machine was switched on')
  t.equal(realMachine.judge({ ...self, pid: 2 ** 22 + 1 }), 'dead')
  t.equal(realMachine.judge({ ...self, host: 'other' }), 'unknown')
  t.equal(realMachine.judge({ ...self, space: 'pid:[1]' }), 'unknown', 'a container of the same machine')
})

t.test('it shares one lock between a log and its symbolic links, and refuses hard links', async t => {
  const home = mkdtempSync(join(tmpdir(), 'skein-links-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const now = (): number => 1_000_000_000_000
  const [first, second] = ['a', 'b'].map(name => new Store({ disk: realDisk, root: join(home, name), now }))
  const path = first!.pathFor(header.id, header.createdAt)
  await first!.create(header, path).close()
  const alias = second!.pathFor(header.id, header.createdAt)
  realDisk.mkdir(join(alias, '..'))
  symlinkSync(path, alias)
  const opened = first!.open(header.id)
  t.throws(() => second!.open(header.id), { code: 'lockedElsewhere' })
  t.equal(second!.read(header.id)?.header.id, header.id, 'reading needs no lock')
  await opened?.log.close()
  const viaAlias = second!.open(header.id)
  t.ok(viaAlias)
  await viaAlias?.log.close()
  linkSync(path, join(home, 'hard'))
  t.throws(() => first!.open(header.id), { code: 'storage', message: /2 names/ })
})

t.test('it has exactly one winner in every race of eight processes, some of them killed', async t => {
  const home = mkdtempSync(join(tmpdir(), 'skein-race-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const { races, takeovers, wrong } = await race(join(home, 'log.jsonl'), 200, { seed: 1, kills: 0.03 })
  t.strictSame(wrong, [])
  t.ok(races === 200 && takeovers > 2, `${takeovers} of ${races} winners were killed`)
})
