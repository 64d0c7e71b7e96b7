import t from 'tap'
import { Lock } from '../../../src/engine/store/lock.ts'
import { LogFile, type LogNews } from '../../../src/engine/store/log-file.ts'
import { readLog } from '../../../src/engine/store/read-log.ts'
import { Store } from '../../../src/engine/store/store.ts'
import { finish, says, scriptedModel, startThread, text, workbench } from '../../support/scripted.ts'
import { FakeDisk, failure, fakeMachine } from './fake-disk.ts'
import { header } from './fake-log.ts'

const now = (): number => 1_000_000_000_000

const storeOn = (disk: FakeDisk, pid = 1, alive: readonly number[] = [1]): Store =>
  new Store({ disk, root: '/home/sessions', now, machine: fakeMachine(pid, new Set(alive)) })

const PATH = storeOn(new FakeDisk()).pathFor(header.id, header.createdAt)

const turn = (n: number): readonly object[] => [
  { t: 'turn', turn: `turn_${n}`, startedAt: n },
  {
    t: 'item',
    turn: `turn_${n}`,
    item: { type: 'agentMessage', id: `msg_${n}`, text: `answer ${n} äöü`, phase: null },
    startedAt: n,
    completedAt: n,
    context: true,
  },
  { t: 'end', turn: `turn_${n}`, status: 'completed', error: null, completedAt: n, durationMs: 0 },
]

const lines = (records: readonly object[]): string =>
  records.map((record, n) => `${JSON.stringify({ n, at: 1_000_000_000_000 + n, ...record })}\n`).join('')

/** A log of two whole turns. */
const WHOLE = Buffer.from(lines([header, { t: 'settings', settings: header.settings }, ...turn(1), ...turn(2)]))

/** Damage of every kind that has been seen, and how many lines of the log are then worth a warning. */
const DAMAGE: readonly (readonly [what: string, damage: (log: Buffer) => Buffer, bad: number])[] = [
  ['nothing', log => log, 0],
  ['the last line cut', log => log.subarray(0, log.length - 40), 0],
  ['the last line feed missing', log => log.subarray(0, log.length - 1), 0],
  ['a garbage line in the middle', log => inserted(log, 'garbage {\n'), 1],
  ['a NUL tail', log => Buffer.concat([log, Buffer.alloc(4096)]), 0],
  ['NUL bytes before a record', log => inserted(log, Buffer.alloc(100)), 0],
  ['a NUL tail of two mebibytes', log => Buffer.concat([log, Buffer.alloc(2 * 1024 * 1024)]), 0],
  ['a torn header', log => log.subarray(30), 1],
  ['a line of invalid UTF-8', log => inserted(log, Buffer.from([0xe6, 0x87, 0x0a])), 1],
  ['invalid UTF-8 in a text', log => Buffer.from(log.toString('latin1').replace('Ã¤', '\xe6'), 'latin1'), 0],
  ['a record of a later version', log => inserted(log, '{"t":"hologram","n":99}\n'), 0],
  ['carriage returns', log => Buffer.from(log.toString().replaceAll('\n', '\r\n')), 0],
  ['the whole file twice', log => Buffer.concat([log, log]), 0],
  ['a byte order mark', log => Buffer.concat([Buffer.from('\ufeff'), log]), 0],
  ['blank lines', log => inserted(log, '\n\n'), 0],
  ['no ordinals', log => Buffer.from(log.toString().replace(/"n":\d+,/g, '')), 0],
  ['the same ordinal everywhere', log => Buffer.from(log.toString().replace(/"n":\d+,/g, '"n":1,')), 0],
  [
    'hostile ordinals',
    log => Buffer.from(log.toString().replace('"n":3,', '"n":1e308,').replace('"n":4,', '"n":-5,')),
    0,
  ],
  ['scalars and arrays', log => inserted(log, 'null\n[]\n7\n"x"\n{"t":7}\n'), 5],
]

function inserted(log: Buffer, what: string | Buffer): Buffer {
  const at = log.indexOf('\n', log.indexOf('turn_1')) + 1
  return Buffer.concat([log.subarray(0, at), Buffer.from(what), log.subarray(at)])
}

for (const [what, damage, bad] of DAMAGE) {
  t.test(`it goes on with a log that has ${what}`, async t => {
    const disk = new FakeDisk()
    disk.put(PATH, damage(WHOLE))
    const bench = workbench(scriptedModel([[...says('next', 'msg_9'), finish()]]).model, { store: storeOn(disk) })
    t.equal(bench.threads.stored(header.id)?.bad, bad)
    const cut = what === 'the last line cut'
    const statuses = ['completed', cut ? 'interrupted' : 'completed']
    t.strictSame(
      bench.threads
        .stored(header.id)
        ?.history.turns()
        .map(view => view.status),
      statuses,
    )
    const thread = bench.threads.load(header.id)
    thread.heard()
    t.strictSame(
      bench.events.flatMap(event => (event.type === 'warning' ? [event.message] : [])).length,
      bad > 0 ? 1 : 0,
    )
    const end = bench.turnEnd()
    thread.startTurn({ input: text('go on'), clientId: null }).begin()
    await end
    await thread.close()
    t.strictSame(
      storeOn(disk)
        .read(header.id)
        ?.history.turns()
        .map(view => [view.status, view.items.length]),
      [...statuses.map(status => [status, 1]), ['completed', 2]],
    )
  })
}

t.test('it opens a log of which nothing is left but its name', async t => {
  const disk = new FakeDisk()
  disk.put(PATH, '')
  const thread = storeOn(disk).read(header.id)
  t.strictSame(
    { ...thread?.header, settings: null },
    { ...header, originator: null, cliVersion: '', settings: null },
    'name and time of the file stand in for the header',
  )
  t.equal(thread?.history.settings?.model, '', 'a model that nobody knows becomes the default one')
})

t.test('it takes no file for a log that has neither the name nor the contents of one', async t => {
  const disk = new FakeDisk()
  disk.put('/etc/passwd', 'root:x:0:0\n')
  t.equal(storeOn(disk).readPath('/etc/passwd'), null)
  t.equal(storeOn(disk).readPath('/nothing'), null)
})

t.test('it says once that the disk is full, keeps everything, and writes it when there is room', async t => {
  const disk = new FakeDisk()
  const steps = ['one', 'two', 'three'].map(word => [...says(word, word), finish()])
  const bench = workbench(scriptedModel(steps).model, { store: storeOn(disk) })
  const thread = startThread(bench)
  for (const [words, broken] of [
    ['first', null],
    ['second', 'ENOSPC'],
    ['third', null],
  ] as const) {
    disk.broken = broken
    const end = bench.turnEnd()
    thread.startTurn({ input: text(words), clientId: null }).begin()
    await end
  }
  const said = bench.events.flatMap(event => (event.type === 'warning' ? [event.message] : []))
  t.strictSame(said, [
    'This conversation cannot be saved right now and is kept in memory; saving is retried: ENOSPC: no luck',
    'This conversation has been saved again; nothing of it is missing.',
  ])
  const stored = storeOn(disk).read(thread.id)
  t.strictSame(stored?.history.turns(), thread.turns())
  t.equal(stored?.bad, 0)
  await thread.close()
})

t.test('it starts and runs threads on a disk that cannot be written at all', async t => {
  const disk = new FakeDisk()
  disk.put(PATH, WHOLE)
  disk.broken = 'EROFS'
  const steps = ['one', 'two'].map(word => [...says(word, word), finish()])
  const bench = workbench(scriptedModel(steps).model, { store: storeOn(disk) })
  for (const thread of [startThread(bench), bench.threads.load(header.id)]) {
    const end = bench.turnEnd()
    thread.startTurn({ input: text('hi'), clientId: null }).begin()
    await end
    t.equal(thread.turns().at(-1)?.status, 'completed')
    await thread.close()
  }
})

t.test(
  'it refuses new turns when too much waits for the disk, and takes them again when it has been written',
  async t => {
    const disk = new FakeDisk()
    const machine = fakeMachine(1, new Set([1]))
    const store = new Store({ disk, root: '/home/sessions', now, machine, maxWaiting: 4096 })
    const bench = workbench(scriptedModel([[...says('x'), finish()]]).model, { store })
    const thread = startThread(bench)
    thread.note({ t: 'name', name: 'before' })
    disk.broken = 'ENOSPC'
    const big = 'x'.repeat(1000)
    for (let n = 0; n < 5; n++) thread.note({ t: 'name', name: big })
    t.throws(() => thread.startTurn({ input: text('hi'), clientId: null }), { code: 'storage' })
    disk.broken = null
    thread.note({ t: 'name', name: 'after' })
    t.equal(storeOn(disk).read(thread.id)?.history.name, 'after')
    const end = bench.turnEnd()
    thread.startTurn({ input: text('hi'), clientId: null }).begin()
    await end
    await thread.close()
  },
)

t.test('it closes a thread whose log another process has taken, and writes nothing more to it', async t => {
  for (const steal of [
    (disk: FakeDisk) =>
      disk.put(`${PATH}.lock`, JSON.stringify({ pid: 2, start: '1', boot: 'b', host: 'h', space: '', nonce: 'x' })),
    (disk: FakeDisk) => disk.put(PATH, WHOLE),
    (disk: FakeDisk) => disk.unlink(PATH),
  ]) {
    const disk = new FakeDisk()
    disk.put(PATH, WHOLE)
    const bench = workbench(scriptedModel([[...says('x'), finish()]]).model, { store: storeOn(disk) })
    const thread = bench.threads.load(header.id)
    steal(disk)
    thread.startTurn({ input: text('hi'), clientId: null }).begin()
    while (thread.busy) await new Promise(resolve => setImmediate(resolve))
    t.match(
      bench.events.filter(event => ['error', 'thread.closed'].includes(event.type)),
      [{ type: 'error', error: { message: /can no longer be saved by this server/ } }, { type: 'thread.closed' }],
    )
    t.strictSame(thread.status, { type: 'systemError' })
    t.equal(bench.threads.loaded(header.id), undefined)
    t.throws(() => thread.startTurn({ input: text('hi'), clientId: null }), { code: 'threadNotFound' })
  }
})

t.test('it gives a log back at once, so that it can be opened in the same moment', async t => {
  const disk = new FakeDisk()
  const store = storeOn(disk)
  const log = store.create(header, PATH)
  const closed = log.close()
  const again = store.open(header.id)
  t.equal(again?.thread.header.id, header.id)
  await closed
  await again?.log.close()
  t.strictSame(disk.names(), [PATH])
})

t.test('it refuses to archive or delete what another process has, and reads it all the same', async t => {
  const disk = new FakeDisk()
  const [mine, other] = [storeOn(disk, 1, [1, 2]), storeOn(disk, 2, [1, 2])]
  const log = mine.create(header, PATH)
  for (const act of [() => other.archive(header.id), () => other.remove(header.id), () => other.open(header.id)]) {
    t.throws(act, { code: 'lockedElsewhere', message: /active writer: process 1$/ })
  }
  t.equal(other.read(header.id)?.header.id, header.id)
  await log.close()
  t.equal(other.archive(header.id), true)
  t.equal(mine.read(header.id)?.archived, true)
})

t.test('it writes a file anew when bringing it to the medium has failed', async t => {
  const disk = new FakeDisk()
  const news: LogNews[] = []
  const lock = Lock.take({ disk, machine: fakeMachine(1, new Set([1])), path: PATH, id: 'T' })
  disk.put(PATH, 'old\n')
  const opened = { lock, handle: disk.append(PATH), size: 4, folders: [] }
  const open = (): never => {
    throw failure('EIO')
  }
  const file = new LogFile(
    { disk, path: PATH, durable: true, open, known: 4, maxWaiting: 1, report: one => news.push(one) },
    opened,
  )
  file.append(Buffer.from('one\n'))
  // Looking at the lock and at the file come first.
  disk.fault = { at: disk.calls.length + 2, kind: 'error', code: 'EIO' }
  await file.sync()
  t.equal(disk.text(PATH), 'old\none\n')
  file.append(Buffer.from('two\n'))
  await file.close()
  t.equal(disk.text(PATH), 'old\none\ntwo\n')
  t.strictSame(
    news.map(one => one.type),
    ['failing', 'recovered'],
  )
})

t.test('it reads ordinals of any kind and keeps records that merely share one', t => {
  const record = (n: unknown, name: string): string => `${JSON.stringify({ n, at: 0, t: 'name', name })}\n`
  const bytes = Buffer.from(record(1, 'a') + record(1, 'b') + record(1, 'a') + record('x', 'c') + record(null, 'd'))
  t.strictSame(
    readLog(bytes).records.map(entry => entry.t === 'name' && entry.name),
    ['a', 'b', 'c', 'd'],
  )
  t.end()
})

t.test('it reads a log once for readers that come one after the other, and again when it has changed', t => {
  const disk = new FakeDisk()
  disk.put(PATH, WHOLE)
  const store = storeOn(disk)
  const first = store.read(header.id)
  t.equal(store.read(header.id), first)
  t.equal(disk.calls.filter(call => call === `read ${PATH}`).length, 1)
  disk.append(PATH).write(Buffer.from(lines([{ t: 'name', name: 'new' }])))
  t.equal(store.read(header.id)?.history.name, 'new')
  disk.put(PATH, WHOLE)
  t.equal(store.read(header.id)?.history.name, null)
  store.close()
  t.end()
})
