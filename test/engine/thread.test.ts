import { readFileSync, statSync } from 'node:fs'
import t from 'tap'
import type { Tool } from '../../src/engine/tools/tool.ts'
import {
  accept,
  brief,
  calls,
  fails,
  finish,
  gate,
  says,
  scriptedModel,
  startThread,
  text,
  workbench,
} from '../support/scripted.ts'

const start = (words: string) => ({ input: text(words), clientId: null })

t.test('it runs a text turn: items first, its end last and once', async t => {
  const { model, requests } = scriptedModel([[...says('hello there'), finish()]])
  const bench = workbench(model)
  const thread = startThread(bench)
  const end = bench.turnEnd()
  const { turn, begin } = thread.startTurn(start('hi'))
  t.strictSame(turn, {
    id: turn.id,
    status: 'inProgress',
    error: null,
    startedAt: null,
    completedAt: null,
    durationMs: null,
    items: [],
  })
  t.strictSame(bench.events, [], 'nothing happens before the caller has answered')
  begin()
  await end
  t.strictSame(bench.events.map(brief), [
    'status active',
    'turn.started',
    'item.started 0 userMessage',
    'item.completed 0 userMessage',
    'item.started 1 agentMessage ""',
    'delta text "hello "',
    'delta text "there"',
    'item.completed 1 agentMessage "hello there"',
    'usage',
    'status idle',
    'turn.completed completed',
  ])
  t.strictSame(requests[0]?.context, [{ type: 'message', role: 'user', parts: [{ type: 'text', text: 'hi' }] }])
})

t.test('it writes a log that reads back as the same turns, private to its owner', async t => {
  const { model } = scriptedModel([
    [...says('one', 'msg_1'), finish()],
    [...says('two', 'msg_2'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  for (const words of ['first', 'second']) {
    const end = bench.turnEnd()
    thread.startTurn(start(words)).begin()
    await end
  }
  const live = thread.turns()
  const path = thread.path!
  t.equal(statSync(path).mode & 0o777, 0o600)
  const again = workbench(scriptedModel([]).model, { home: bench.home })
  const stored = again.threads.stored(thread.id)!
  t.strictSame(stored.history.turns(), live)
  t.equal(stored.history.preview, 'first')
  t.strictSame(
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).n),
    Array.from({ length: 12 }, (_, n) => n).slice(0, readFileSync(path, 'utf8').trim().split('\n').length),
    'every record has its ordinal',
  )
})

t.test('it goes on with a loaded thread where the log ends', async t => {
  const bench = workbench(scriptedModel([[...says('one', 'msg_1'), finish()]]).model)
  const thread = startThread(bench)
  let end = bench.turnEnd()
  thread.startTurn(start('first')).begin()
  await end
  await thread.close()
  const next = scriptedModel([[...says('two', 'msg_1'), finish()]])
  const again = workbench(next.model, { home: bench.home })
  const loaded = again.threads.load(thread.id)
  end = again.turnEnd()
  loaded.startTurn(start('second')).begin()
  await end
  t.strictSame(
    next.requests[0]?.context.map(entry => ('text' in entry ? entry.text : 'parts' in entry ? entry.parts : entry)),
    [[{ type: 'text', text: 'first' }], 'one', [{ type: 'text', text: 'second' }]],
  )
  t.strictSame(
    loaded.turns().map(turn => turn.items.length),
    [2, 2],
  )
  const ids = loaded.turns().flatMap(turn => turn.items.map(item => item.id))
  t.equal(new Set(ids).size, ids.length, 'an id that the model uses again becomes another one')
  t.equal(again.threads.load(thread.id), loaded, 'a second load finds the first')
})

t.test('it interrupts a stream, completing what a person has read so far', async t => {
  const held = gate()
  const { model, requests } = scriptedModel([
    [...says('partial ').slice(0, 2), held.passed, ...says('never')],
    [...says('later', 'msg_2'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  const { turn, begin } = thread.startTurn(start('go'))
  begin()
  await until(() => bench.events.some(event => event.type === 'item.delta'))
  t.throws(() => thread.interrupting('00000000-0000-7000-8000-000000000000'), { code: 'turnMismatch' })
  const end = bench.turnEnd()
  thread.interrupting(turn.id)!()
  await end
  t.strictSame(bench.events.slice(-3).map(brief), [
    'item.completed 1 agentMessage "partial "',
    'status idle',
    'turn.completed interrupted',
  ])
  t.equal(thread.interrupting(turn.id), null, 'a second interrupt has nothing to do')
  t.equal(thread.interrupting('anything'), null, 'nor has one of an idle thread')
  const next = bench.turnEnd()
  thread.startTurn(start('again')).begin()
  await next
  t.match(JSON.stringify(requests[1]?.context), /partial .*turn_aborted.*again/, 'the model is told')
  t.strictSame(
    thread.turns().map(x => x.status),
    ['interrupted', 'completed'],
  )
})

t.test('it queues a turn behind a running one, and drops one that is interrupted while it waits', async t => {
  const held = gate()
  const { model } = scriptedModel([
    [held.passed, ...says('one', 'a'), finish()],
    [...says('three', 'c'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  const first = thread.startTurn(start('first'))
  first.begin()
  const second = thread.startTurn(start('second'))
  second.begin()
  const third = thread.startTurn(start('third'))
  third.begin()
  t.equal(new Set([first.turn.id, second.turn.id, third.turn.id]).size, 3)
  thread.interrupting(second.turn.id)!()
  held.open()
  await until(() => bench.events.filter(event => event.type === 'turn.completed').length === 3)
  t.strictSame(
    bench.events.flatMap(event => (event.type === 'turn.completed' ? [[event.turn.id, event.turn.status]] : [])),
    [
      [second.turn.id, 'interrupted'],
      [first.turn.id, 'completed'],
      [third.turn.id, 'completed'],
    ],
  )
})

t.test('it hands steering to the model between two responses of the same turn', async t => {
  const held = gate()
  const { model, requests } = scriptedModel([
    [...says('one ').slice(0, 2), held.passed, ...says('one ').slice(2), finish()],
    [...says('two', 'b'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  t.throws(() => thread.steer('x', start('early')), { message: 'no active turn to steer' })
  const { turn, begin } = thread.startTurn(start('go'))
  begin()
  await until(() => bench.events.some(event => event.type === 'item.delta'))
  t.throws(() => thread.steer('x', start('wrong')), {
    message: `expected active turn id \`x\` but found \`${turn.id}\``,
  })
  t.throws(() => thread.steer('', start('none')), { message: 'expectedTurnId must not be empty' })
  t.throws(() => thread.steer(turn.id, { input: [], clientId: null }), { message: 'input must not be empty' })
  t.equal(thread.steer(turn.id, { input: text('more'), clientId: 'c1' }), turn.id)
  const end = bench.turnEnd()
  held.open()
  await end
  t.strictSame(
    thread.turns()[0]?.items.map(item => item.type),
    ['userMessage', 'agentMessage', 'userMessage', 'agentMessage'],
  )
  t.equal(requests.length, 2)
  t.match(requests[1]?.context.at(-1), { parts: [{ text: 'more' }] })
})

t.test('it fails a turn with the text kept, and the next one works', async t => {
  const { model } = scriptedModel([
    [...says('half ').slice(0, 2), fails({ kind: 'network', message: 'cut' })],
    [...says('fine', 'b'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  const end = bench.turnEnd()
  thread.startTurn(start('go')).begin()
  await end
  t.strictSame(bench.events.slice(-4).map(brief), [
    'item.completed 1 agentMessage "half "',
    'status systemError',
    'error cut',
    'turn.completed failed',
  ])
  t.match(thread.turns()[0], { status: 'failed', error: { message: 'cut' } })
  const next = bench.turnEnd()
  thread.startTurn(start('again')).begin()
  await next
  t.equal(thread.turns()[1]?.status, 'completed')
})

t.test('it shows a retry and never shows the model the part that was thrown away', async t => {
  const { model, requests } = scriptedModel([
    [...says('part ').slice(0, 2), fails({ kind: 'network', message: 'cut' })],
    [...says('good', 'b'), finish()],
    [...says('next', 'c'), finish()],
  ])
  const bench = workbench(model, { retries: 1 })
  const thread = startThread(bench)
  let end = bench.turnEnd()
  thread.startTurn(start('go')).begin()
  await end
  t.strictSame(bench.events.slice(5).map(brief), [
    'delta text "part "',
    'item.completed 1 agentMessage "part "',
    'error Reconnecting... (will retry)',
    'item.started 2 agentMessage ""',
    'delta text "good"',
    'item.completed 2 agentMessage "good"',
    'usage',
    'status idle',
    'turn.completed completed',
  ])
  end = bench.turnEnd()
  thread.startTurn(start('more')).begin()
  await end
  t.notMatch(JSON.stringify(requests[2]?.context), 'part ')
})

t.test('it runs tools between two responses, side by side, and answers every call in order', async t => {
  const slow = gate()
  const tool: Tool = {
    spec: { name: 'look', description: '' },
    async run(call, cx) {
      const { at } = JSON.parse(call.args)
      cx.startItem({ type: 'compaction', id: call.id })
      if (at === 'a') await slow.passed
      else slow.open()
      cx.completeItem({ type: 'compaction', id: call.id })
      return { parts: [{ type: 'text', text: `saw ${at}` }], isError: false }
    },
  }
  const two = [...calls('look', { at: 'a' }, 'c1'), ...calls('look', { at: 'b' }, 'c2'), ...calls('gone', {}, 'c3')]
  const { model, requests } = scriptedModel([
    [...two, finish()],
    [...says('done'), finish()],
  ])
  const bench = workbench(model, { tools: [tool] })
  const thread = startThread(bench)
  const end = bench.turnEnd()
  thread.startTurn(start('go')).begin()
  await end
  t.strictSame(
    requests[1]?.context
      .slice(1)
      .map(entry =>
        entry.type === 'result'
          ? `${entry.id}: ${JSON.stringify(entry.parts)}`
          : `${entry.type} ${'id' in entry ? entry.id : ''}`,
      ),
    [
      'call c1',
      'call c2',
      'call c3',
      'c1: [{"type":"text","text":"saw a"}]',
      'c2: [{"type":"text","text":"saw b"}]',
      'c3: [{"type":"text","text":"unsupported call: gone"}]',
    ],
  )
  t.equal(bench.events.filter(event => event.type === 'turn.completed').length, 1)
})

t.test('it asks, waits, and stops the turn when a person says so', async t => {
  const tool: Tool = {
    spec: { name: 'act', description: '' },
    async run(call, cx) {
      const ask = {
        type: 'fileChange',
        turnId: cx.turnId,
        itemId: call.id,
        startedAt: 0,
        reason: null,
        changes: [],
      } as const
      const decision = await cx.ask(ask)
      return { parts: [{ type: 'text', text: decision.type }], isError: false }
    },
  }
  const step = (id: string) => [...calls('act', {}, id), finish()]
  const { model, requests } = scriptedModel([step('c1'), [...says('ok', 'm1'), finish()], step('c2')])
  const bench = workbench(model, { tools: [tool] })
  const thread = startThread(bench)
  bench.desk.attend(thread.id, true)
  thread.startTurn(start('go')).begin()
  const asked = () => bench.events.flatMap(event => (event.type === 'approval.requested' ? [event] : []))
  await until(() => asked().length === 1)
  t.strictSame(thread.status, { type: 'active', waitingOn: ['approval'] })
  let end = bench.turnEnd()
  bench.desk.answer(asked()[0]!.approvalId, accept)
  bench.desk.answer(asked()[0]!.approvalId, { type: 'cancel' })
  await end
  t.match(requests[1]?.context.at(-1), { parts: [{ text: 'accept' }] }, 'the first answer wins')
  thread.startTurn(start('go')).begin()
  await until(() => asked().length === 2)
  end = bench.turnEnd()
  bench.desk.answer(asked()[1]!.approvalId, { type: 'cancel' })
  await end
  t.equal(thread.turns()[1]?.status, 'interrupted')
})

t.test('it declines what nobody is there to answer', async t => {
  const decisions: unknown[] = []
  const tool: Tool = {
    spec: { name: 'act', description: '' },
    async run(call, cx) {
      const ask = {
        type: 'fileChange',
        turnId: cx.turnId,
        itemId: call.id,
        startedAt: 0,
        reason: null,
        changes: [],
      } as const
      decisions.push(await cx.ask(ask))
      return { parts: [], isError: false }
    },
  }
  const { model } = scriptedModel([[...calls('act', {}), finish()]])
  const bench = workbench(model, { tools: [tool], unattendedMs: 0 })
  const end = bench.turnEnd()
  startThread(bench).startTurn(start('go')).begin()
  await end
  t.strictSame(decisions, [{ type: 'decline', message: 'No client is connected to answer this request.' }])
})

t.test('it refuses more text than a turn may have', async t => {
  const bench = workbench(scriptedModel([]).model)
  t.throws(() => startThread(bench).startTurn(start('x'.repeat(1_048_577))), {
    code: 'inputTooLarge',
    data: { input_error_code: 'input_too_large', max_chars: 1_048_576, actual_chars: 1_048_577 },
  })
})

t.test('it keeps ephemeral threads off the disk and out of lists', async t => {
  const bench = workbench(scriptedModel([[...says('x'), finish()]]).model)
  const thread = startThread(bench, { ephemeral: true })
  const end = bench.turnEnd()
  thread.startTurn(start('go')).begin()
  await end
  t.equal(thread.path, null)
  t.strictSame([...bench.threads.views()], [])
  t.throws(() => bench.threads.load('nothing'), { code: 'threadIdInvalid' })
})

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 1))
}
