import t from 'tap'
import type { Item } from '../../../src/engine/items.ts'
import { Journal } from '../../../src/engine/store/journal.ts'
import { Store } from '../../../src/engine/store/store.ts'
import type { Tool } from '../../../src/engine/tools/tool.ts'
import { calls, finish, gate, says, scriptedModel, startThread, text, workbench } from '../../support/scripted.ts'
import { FakeDisk, fakeMachine } from './fake-disk.ts'

const message: Item = { type: 'agentMessage', id: 'msg', text: '', phase: null }

const storeOn = (disk: FakeDisk, pid: number): Store =>
  new Store({ disk, root: '/home/sessions', now: () => 1_000_000_000_000, machine: fakeMachine(pid, new Set([pid])) })

t.test('it writes what has piled up, the start of an item once, and nothing of an item that has completed', async t => {
  const written: object[] = []
  const journal = new Journal(entry => written.push(entry))
  const part = { type: 'text' } as const
  journal.add('T', message, { part, delta: '' })
  journal.add('T', message, { part, delta: 'a'.repeat(4095) })
  t.strictSame(written, [])
  journal.add('T', message, { part, delta: 'b' })
  journal.add('T', message, { part, delta: 'c' })
  await new Promise(resolve => setTimeout(resolve, 80))
  t.strictSame(written, [
    { t: 'part', turn: 'T', item: 'msg', start: message, part, text: `${'a'.repeat(4095)}b` },
    { t: 'part', turn: 'T', item: 'msg', start: null, part, text: 'c' },
  ])
  journal.add('T', message, { part, delta: 'd' })
  journal.settle('msg')
  journal.settle('unknown')
  await new Promise(resolve => setTimeout(resolve, 80))
  t.equal(written.length, 2)
  journal.stop()
})

t.test('it stops at the length that an item may show', t => {
  let length = 0
  const journal = new Journal(({ text: piece }) => {
    length += piece.length
  })
  for (let n = 0; n < 40; n++) journal.add('T', message, { part: { type: 'output' }, delta: 'x'.repeat(65_536) })
  t.equal(length, 1024 * 1024)
  journal.stop()
  t.end()
})

t.test('it shows what a killed server had streamed, and tells the model of it with the next turn', async t => {
  const disk = new FakeDisk()
  const [streaming, running] = [gate(), gate()]
  const words = 'many words that stream '.repeat(300)
  const slow: Tool = {
    spec: { name: 'slow', description: '' },
    async run(call, cx) {
      cx.startItem({
        type: 'command',
        id: call.id,
        command: 'make',
        cwd: '/work',
        processId: null,
        source: 'agent',
        status: 'inProgress',
        actions: [],
        output: null,
        exitCode: null,
        durationMs: null,
      })
      cx.delta(call.id, { type: 'output' }, 'o'.repeat(5000))
      await running.passed
      return { parts: [], isError: false }
    },
  }
  const stream = says(words, 'msg_2').slice(0, -1)
  for (const [held, step, partial] of [
    [streaming, [...stream, streaming.passed], { type: 'agentMessage', id: 'msg_2' }],
    [
      running,
      [...calls('slow', {}, 'call_1'), finish()],
      { type: 'command', id: 'call_1', status: 'failed', output: 'o'.repeat(5000) },
    ],
  ] as const) {
    const bench = workbench(scriptedModel([step]).model, { store: storeOn(disk, 1), tools: [slow] })
    const thread = startThread(bench)
    const { turn, begin } = thread.startTurn({ input: text('go'), clientId: null })
    begin()
    while (!disk.calls.some(call => call.includes(thread.id)) || !disk.text(thread.path!).includes('"t":"part"')) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    await new Promise(resolve => setTimeout(resolve, 80))

    const remains = disk.kept()
    const next = scriptedModel([[...says('later', 'msg_3'), finish()]])
    const again = workbench(next.model, { store: storeOn(new FakeDisk(remains), 2) })
    const read = again.threads.stored(thread.id)?.history.turns()
    t.match(read, [{ id: turn.id, status: 'interrupted', items: [{ type: 'userMessage' }, partial] }])
    const loaded = again.threads.load(thread.id)
    t.strictSame(loaded.turns(), read, 'opening it changes nothing')
    const end = again.turnEnd()
    loaded.startTurn({ input: text('go on'), clientId: null }).begin()
    await end
    t.match(loaded.turns()[0], { id: turn.id, status: 'interrupted', items: [{ type: 'userMessage' }, partial] })
    const told = JSON.stringify(next.requests[0]?.context)
    t.match(told, /turn_aborted.*go on/)
    if (partial.type === 'agentMessage') t.ok(told.includes(words.trim().slice(0, words.length * 0.95)))
    await loaded.close()
    held.open()
    thread.stop()
    while (thread.busy) await new Promise(resolve => setTimeout(resolve, 1))
    await thread.close()
  }
})
