import t from 'tap'
import type { LogRecord } from '../../../src/engine/store/records.ts'
import { Store } from '../../../src/engine/store/store.ts'
import { FakeDisk, fakeMachine } from './fake-disk.ts'
import { header } from './fake-log.ts'

const INDEX = '/home/sessions/index.jsonl'

const storeOn = (disk: FakeDisk): Store =>
  new Store({ disk, root: '/home/sessions', now: () => 1_000_000_000_000, machine: fakeMachine(1, new Set([1])) })

const idOf = (n: number): string => `00e8d4a5-1000-7000-8000-${String(n).padStart(12, '0')}`

const PATHS = storeOn(new FakeDisk())
const pathOf = (n: number): string => PATHS.pathFor(idOf(n), header.createdAt + n)

const said = (words: string): readonly LogRecord[] => [
  { t: 'turn', turn: 'turn_1', startedAt: 1 },
  {
    t: 'item',
    turn: 'turn_1',
    item: { type: 'userMessage', id: 'm', clientId: null, content: [{ type: 'text', text: words, elements: [] }] },
    startedAt: 1,
    completedAt: 1,
    context: true,
  },
]

const lines = (records: readonly LogRecord[], from = 0): string =>
  records
    .map((record, n) => `${JSON.stringify({ n: from + n, at: 1_000_000_000_000 + from + n, ...record })}\n`)
    .join('')

function diskWith(count: number): FakeDisk {
  const disk = new FakeDisk()
  for (let n = 0; n < count; n++) {
    const head = { ...header, id: idOf(n), createdAt: header.createdAt + n }
    disk.put(pathOf(n), lines([head, ...said(`words ${n}`)]))
  }
  return disk
}

const shown = (store: Store, archived = false): readonly string[] =>
  [...store.list(archived)].map(view => `${view.id.slice(-2)} ${view.name ?? view.preview}`).sort()

/** Paths of logs that were read between two moments. */
const opened = (disk: FakeDisk, from: number): readonly string[] =>
  disk.calls.slice(from).filter(call => call.startsWith('read ') && !call.includes('index.jsonl'))

t.test('it lists what is there, then opens only what has changed, and of that only what is new', async t => {
  const disk = diskWith(3)
  const store = storeOn(disk)
  t.strictSame(shown(store), ['00 words 0', '01 words 1', '02 words 2'])
  let before = disk.calls.length
  t.strictSame(shown(store), ['00 words 0', '01 words 1', '02 words 2'])
  t.strictSame(opened(disk, before), [])
  disk.append(pathOf(1)).write(Buffer.from(lines([{ t: 'name', name: 'new name' }], 3)))
  before = disk.calls.length
  t.strictSame(shown(store), ['00 words 0', '01 new name', '02 words 2'])
  t.strictSame(opened(disk, before), [`read ${pathOf(1)}`])
  disk.unlink(pathOf(0))
  t.strictSame(shown(store), ['01 new name', '02 words 2'])
  store.close()
})

t.test('it shows the same as a whole reading of the log', t => {
  const disk = diskWith(0)
  const more: readonly LogRecord[] = [
    { t: 'settings', settings: { ...header.settings, model: 'other', cwd: '/elsewhere' } },
    { t: 'git', gitInfo: { sha: 'a', branch: 'b', originUrl: null } },
    ...said('words'),
    { t: 'name', name: 'name' },
    { t: 'end', turn: 'turn_1', status: 'completed', error: null, completedAt: 5, durationMs: 4 },
  ]
  disk.put(pathOf(1), `garbage\n${lines([{ ...header, id: idOf(1) }, ...more])}{"torn`)
  const store = storeOn(disk)
  const [view] = [...store.list()]
  const stored = store.read(idOf(1))
  t.match(view, {
    id: idOf(1),
    name: 'name',
    preview: 'words',
    model: 'other',
    cwd: '/elsewhere',
    gitInfo: { branch: 'b' },
    updatedAt: stored?.history.updatedAt,
    status: { type: 'notLoaded' },
    path: pathOf(1),
  })
  store.close()
  t.end()
})

t.test('it starts from the index that an earlier process has written, and opens nothing', async t => {
  const disk = diskWith(20)
  const first = storeOn(disk)
  shown(first)
  first.close()
  const before = disk.calls.length
  const second = storeOn(disk)
  t.equal(shown(second).length, 20)
  t.strictSame(opened(disk, before), [])
  second.close()
})

t.test('it rebuilds an index that is damaged, stale, hostile or of another version', async t => {
  const stale = diskWith(2)
  const store = storeOn(stale)
  shown(store)
  store.close()
  const good = stale.text(INDEX)
  for (const [what, bytes] of [
    ['empty', ''],
    ['garbage', 'not an index\n\0\0\n{"path":1}\n'],
    ['another version', good.replace('"version":1', '"version":999')],
    ['cut in the middle', good.slice(0, good.length - 100)],
    ['a lie about sizes', good.replace(/"size":\d+/g, '"size":7')],
    ['a thread that is not there', good.replaceAll(idOf(0), idOf(77))],
    ['no view', good.replace(/"view":\{.*\}/g, '"view":{"id":7}')],
  ] as const) {
    const disk = diskWith(2)
    disk.put(INDEX, bytes)
    const again = storeOn(disk)
    t.strictSame(shown(again), ['00 words 0', '01 words 1'], what)
    again.close()
    const before = disk.calls.length
    const third = storeOn(disk)
    t.strictSame(shown(third), ['00 words 0', '01 words 1'], `${what}, the next time`)
    t.strictSame(opened(disk, before), [], `${what}: mended`)
    third.close()
  }
})

t.test('it knows at once what this process makes, archives and deletes', async t => {
  const disk = diskWith(1)
  const store = storeOn(disk)
  t.strictSame(shown(store), ['00 words 0'])
  const log = store.create({ ...header, id: idOf(5), createdAt: header.createdAt + 5 }, pathOf(5))
  for (const record of said('fresh')) log.append(record)
  await log.sync()
  t.strictSame(shown(store), ['00 words 0', '05 fresh'])
  await log.close()
  store.archive(idOf(5))
  t.strictSame([shown(store), shown(store, true)], [['00 words 0'], ['05 fresh']])
  store.unarchive(idOf(5))
  store.remove(idOf(0))
  t.strictSame([shown(store), shown(store, true)], [['05 fresh'], []])
  store.close()
})

t.test('it hears of what another process does on the same folder', async t => {
  const disk = diskWith(1)
  const [mine, other] = [storeOn(disk), storeOn(disk)]
  t.strictSame([shown(mine), shown(other)], [['00 words 0'], ['00 words 0']])
  other.archive(idOf(0))
  other.close()
  t.strictSame([shown(mine), shown(mine, true)], [[], ['00 words 0']])
  mine.close()
})

t.test('it lists although the disk cannot be written or one log cannot be read', async t => {
  const disk = diskWith(2)
  disk.broken = 'EROFS'
  const store = storeOn(disk)
  t.strictSame(shown(store), ['00 words 0', '01 words 1'])
  store.close()
})
