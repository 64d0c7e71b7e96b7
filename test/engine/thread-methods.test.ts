import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { EngineEvent } from '../../src/engine/events.ts'
import type { Thread } from '../../src/engine/thread.ts'
import { goalTools } from '../../src/engine/tools/goal-tools.ts'
import type { Tool } from '../../src/engine/tools/tool.ts'
import {
  brief,
  calls,
  fails,
  finish,
  gate,
  says,
  scriptedModel,
  settings,
  startThread,
  text,
  type Workbench,
  workbench,
} from '../support/scripted.ts'

const start = (words: string) => ({ input: text(words), clientId: null })

/** Runs one turn of a thread to its end. */
async function say(bench: Workbench, thread: Thread, words: string): Promise<string> {
  const end = bench.turnEnd()
  const { turn, begin } = thread.startTurn(start(words))
  begin()
  await end
  await new Promise(resolve => setImmediate(resolve))
  return turn.id
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 1))
}

/** A thread in which these words have been said and answered with `re: words`. */
async function talked(words: readonly string[]) {
  const { model, requests } = scriptedModel([
    ...words.map((w, n) => [...says(`re: ${w}`, `msg_${n}`), finish()]),
    [...says('last', 'msg_last'), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  const ids: string[] = []
  for (const w of words) ids.push(await say(bench, thread, w))
  return { bench, thread, requests, ids }
}

const fork = (sourceId: string, more: object = {}) => ({
  sourceId,
  lastTurnId: null,
  beforeTurnId: null,
  settings,
  config: {},
  ephemeral: false,
  clientTools: [],
  threadSource: null,
  originator: 'test',
  cliVersion: '1',
  gitInfo: null,
  createdAt: 1_000_000_500_000,
  ...more,
})

const said = (thread: Pick<Thread, 'turns'>): readonly (readonly unknown[])[] =>
  thread
    .turns()
    .map(turn => [turn.id, turn.status, turn.items.map(item => (item.type === 'agentMessage' ? item.text : item.type))])

const shown = (context: readonly object[]): readonly string[] =>
  context.map(entry => {
    if ('text' in entry) return String(entry.text)
    return 'parts' in entry ? (entry.parts as { text?: string }[]).map(part => part.text ?? '').join('') : ''
  })

t.test('it forks a thread: the same turns under their ids, a life of its own', async t => {
  const { bench, thread, requests, ids } = await talked(['one', 'two'])
  await bench.threads.note(thread.id, { t: 'name', name: 'Mine' })
  const copy = await bench.threads.fork(fork(thread.id))
  t.strictSame(said(copy), said(thread))
  t.match(copy.view(), {
    forkedFrom: thread.id,
    sessionId: copy.id,
    name: null,
    preview: 'one',
    status: { type: 'idle' },
  })
  t.equal(copy.usage?.total.total, 240)
  t.equal(copy.usageTurn, ids[1])
  await say(bench, copy, 'in the fork')
  t.strictSame(shown(requests.at(-1)?.context ?? []), ['one', 're: one', 'two', 're: two', 'in the fork'])
  t.equal(thread.turns().length, 2)
  await copy.close()
  t.strictSame(
    bench.threads
      .stored(copy.id)
      ?.history.turns()
      .map(turn => turn.id),
    [...ids, copy.turns()[2]?.id],
    'and it reads back from its own file',
  )
})

t.test('it forks in the middle, behind one turn or before one', async t => {
  const { bench, thread, requests, ids } = await talked(['one', 'two', 'three'])
  const behind = await bench.threads.fork(fork(thread.id, { lastTurnId: ids[0] }))
  const before = await bench.threads.fork(fork(thread.id, { beforeTurnId: ids[2] }))
  const whole = await bench.threads.fork(fork(thread.id, { lastTurnId: ids[2] }))
  t.strictSame(
    [behind, before, whole].map(x => x.turns().map(turn => turn.id)),
    [ids.slice(0, 1), ids.slice(0, 2), ids],
  )
  await say(bench, behind, 'on')
  t.strictSame(shown(requests.at(-1)?.context ?? []), ['one', 're: one', 'on'])
  await t.rejects(bench.threads.fork(fork(thread.id, { lastTurnId: 'nope' })), { code: 'turnNotFound' })
  await t.rejects(bench.threads.fork(fork(thread.id, { lastTurnId: ids[0], beforeTurnId: ids[1] })), {
    code: 'invalidParams',
  })
})

t.test('it shows a running turn as interrupted in the fork and lets it run on in the source', async t => {
  const held = gate()
  const { model } = scriptedModel([
    [...says('partial ').slice(0, 2), held.passed, ...says('partial done').slice(2), finish()],
  ])
  const bench = workbench(model)
  const thread = startThread(bench)
  const end = bench.turnEnd()
  const { turn, begin } = thread.startTurn(start('go'))
  begin()
  await until(() => bench.events.some(event => event.type === 'item.delta'))
  const copy = await bench.threads.fork(fork(thread.id))
  t.strictSame(said(copy), [[turn.id, 'interrupted', ['userMessage']]])
  t.match(shown(copy.context).at(-1), /turn_aborted/, 'its model is told')
  held.open()
  await end
  t.equal(thread.turns()[0]?.status, 'completed')
})

t.test('it forks into memory alone, and never from what has no log', async t => {
  const { bench, thread } = await talked(['one'])
  const copy = await bench.threads.fork(fork(thread.id, { ephemeral: true }))
  t.equal(copy.path, null)
  t.strictSame(said(copy), said(thread))
  await say(bench, copy, 'more')
  t.equal(bench.threads.stored(copy.id), null)
  for (const id of [copy.id, startThread(bench).id, '01a00000-0000-7000-8000-000000000000']) {
    await t.rejects(bench.threads.fork(fork(id)), {
      code: 'logNotFound',
      message: `no rollout found for thread id ${id}`,
    })
  }
  await t.rejects(bench.threads.fork(fork('bogus')), { code: 'threadIdInvalid' })
})

t.test('it takes turns back from what is shown and from what the model is told, for good', async t => {
  const { bench, thread, requests, ids } = await talked(['one', 'two', 'three'])
  t.throws(() => thread.rollback(0), { code: 'invalidParams', message: 'numTurns must be >= 1' })
  thread.rollback(1)
  t.strictSame(
    thread.turns().map(turn => turn.id),
    ids.slice(0, 2),
  )
  t.match(thread.usage, { total: { total: 360 }, last: { total: 120 } })
  thread.revert(ids[1]!)
  t.strictSame(
    thread.turns().map(turn => turn.id),
    ids.slice(0, 1),
  )
  t.throws(() => thread.revert(ids[1]!), { code: 'turnNotFound' }, 'what is gone cannot be taken back again')
  await say(bench, thread, 'four')
  t.strictSame(shown(requests.at(-1)?.context ?? []), ['one', 're: one', 'four'])
  await thread.close()
  const again = workbench(scriptedModel([]).model, { home: bench.home }).threads.load(thread.id)
  t.strictSame(said(again), said(thread))
  t.strictSame(shown(again.context), ['one', 're: one', 'four', 'last'])
  again.rollback(99)
  t.strictSame([said(again), again.context, again.usage?.last.total, again.view().preview], [[], [], 0, 'one'])
})

t.test('it takes nothing back while a turn runs', async t => {
  const held = gate()
  const bench = workbench(scriptedModel([[held.passed, ...says('x'), finish()]]).model)
  const thread = startThread(bench)
  const end = bench.turnEnd()
  const { turn, begin } = thread.startTurn(start('go'))
  begin()
  t.throws(() => thread.rollback(1), {
    code: 'turnInProgress',
    message: 'Cannot rollback while a turn is in progress.',
  })
  t.throws(() => thread.revert(turn.id), { code: 'turnInProgress' })
  held.open()
  await end
  t.equal(thread.turns().length, 1)
})

t.test('it archives a running thread: the turn ends first, and nothing starts meanwhile', async t => {
  const held = gate()
  const bench = workbench(scriptedModel([[...says('partial ').slice(0, 2), held.passed]]).model)
  const thread = startThread(bench)
  const { begin } = thread.startTurn(start('go'))
  begin()
  await until(() => bench.events.some(event => event.type === 'item.delta'))
  bench.events.length = 0
  const archived = bench.threads.archive(thread.id)
  t.throws(() => thread.startTurn(start('late')), { code: 'threadNotFound' })
  await t.rejects(bench.threads.archive(thread.id), { code: 'logNotFound' }, 'one at a time')
  await archived
  t.strictSame(bench.events.map(brief), [
    'item.completed 1 agentMessage "partial "',
    'status idle',
    'turn.completed interrupted',
    'status notLoaded',
  ])
  t.equal(bench.threads.loaded(thread.id), undefined)
  t.throws(() => bench.threads.load(thread.id), {
    code: 'threadArchived',
    message: `session ${thread.id} is archived. Run \`codex unarchive ${thread.id}\` to unarchive it first.`,
  })
  t.strictSame(
    [[...bench.threads.views()].length, [...bench.threads.views(true)].map(view => view.id)],
    [0, [thread.id]],
  )
  t.match(bench.threads.stored(thread.id), { archived: true })
  await t.rejects(bench.threads.archive(thread.id), { code: 'logNotFound' })
  await t.rejects(bench.threads.fork(fork(thread.id)), { code: 'logNotFound' })
})

t.test('it works again when it comes back from the archive', async t => {
  const { bench, thread, ids } = await talked(['one'])
  const path = thread.path!
  await bench.threads.archive(thread.id)
  t.notOk(existsSync(path))
  t.match(bench.threads.unarchive(thread.id), { id: thread.id, path, status: { type: 'notLoaded' } })
  t.throws(() => bench.threads.unarchive(thread.id), {
    code: 'logNotFound',
    message: `no archived rollout found for thread id ${thread.id}`,
  })
  const again = bench.threads.load(thread.id)
  await say(bench, again, 'two')
  t.strictSame(
    again.turns().map(turn => turn.id),
    [ids[0], again.turns()[1]?.id],
  )
})

t.test('it deletes a thread for good, in memory, on disk or in the archive', async t => {
  const { bench, thread } = await talked(['one'])
  const copy = await bench.threads.fork(fork(thread.id))
  await bench.threads.archive(copy.id)
  await bench.threads.delete(thread.id)
  await bench.threads.delete(copy.id)
  for (const { id } of [thread, copy]) {
    t.equal(bench.threads.stored(id), null)
    await t.rejects(bench.threads.delete(id), { code: 'logNotFound' })
  }
  thread.note({ t: 'name', name: 'too late' })
  const left = readdirSync(bench.home, { recursive: true, encoding: 'utf8' }).filter(name => name.includes('rollout'))
  t.strictSame(left, [], 'and nothing brings the file back')
  await t.rejects(bench.threads.delete(startThread(bench, { ephemeral: true }).id), { code: 'logNotFound' })
})

t.test('it archives a thread in which nothing was said', async t => {
  const bench = workbench(scriptedModel([]).model)
  const thread = startThread(bench)
  await bench.threads.archive(thread.id)
  t.strictSame(
    [...bench.threads.views(true)].map(view => view.id),
    [thread.id],
  )
})

t.test('it writes facts of a thread without loading it', async t => {
  const { bench, thread } = await talked(['one'])
  await bench.threads.unload(thread.id)
  const gitInfo = { sha: null, branch: 'main', originUrl: null }
  await bench.threads.note(thread.id, { t: 'git', gitInfo })
  t.match(await bench.threads.note(thread.id, { t: 'name', name: 'Named' }), { name: 'Named', gitInfo })
  const before = bench.threads.stored(thread.id)!.history.updatedAt
  t.strictSame(await bench.threads.markRead(thread.id, false, '0'), {
    changed: true,
    readState: { firstUnread: { type: 'turn', turnId: thread.turns()[0]!.id }, revision: '1' },
  })
  t.match(
    await bench.threads.markRead(thread.id, true, '0'),
    { changed: false, readState: { revision: '1' } },
    'an old revision',
  )
  t.match(await bench.threads.markRead(thread.id, true, '1'), {
    changed: true,
    readState: { firstUnread: null, revision: '2' },
  })
  t.match(await bench.threads.markRead(thread.id, true, '2'), { changed: false })
  t.equal(bench.threads.stored(thread.id)!.history.updatedAt, before, 'reading a thread does not make it newer')
  t.equal(bench.threads.loaded(thread.id), undefined)
  await t.rejects(bench.threads.note('01a00000-0000-7000-8000-000000000000', { t: 'name', name: 'x' }), {
    code: 'threadNotFound',
  })
})

t.test('it leaves memory when nobody follows it, from every way to idleness', async t => {
  const { model } = scriptedModel([[...says('one'), finish()], [fails({ kind: 'network', message: 'gone' })]])
  let attended = true
  const bench = workbench(model, { unloadMs: 1, attended: () => attended })
  const thread = startThread(bench)
  const closed = (): number => bench.events.filter(event => event.type === 'thread.closed').length
  await say(bench, thread, 'one')
  attended = false
  bench.threads.rest(thread.id)
  await until(() => closed() === 1)
  t.strictSame(bench.events.slice(-2).map(brief), ['status notLoaded', 'thread.closed'])
  const again = bench.threads.load(thread.id)
  t.equal(bench.threads.load(thread.id), again, 'two that come at once load it once')
  await until(() => closed() === 2)
  t.equal(bench.threads.loaded(thread.id), undefined, 'somebody who loads it and goes away leaves nothing behind')
  await say(bench, bench.threads.load(thread.id), 'fails')
  await until(() => closed() === 3)
  t.strictSame(bench.threads.allLoaded, [])
  const held = gate()
  const busy = workbench(scriptedModel([[held.passed, ...says('x'), finish()]]).model, {
    unloadMs: 1,
    attended: () => false,
  })
  const running = startThread(busy)
  running.startTurn(start('go')).begin()
  await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(busy.threads.loaded(running.id), 'work keeps it there')
  held.open()
  await until(() => busy.events.some(event => event.type === 'thread.closed'))
})

const goalsOf = (events: readonly EngineEvent[]): readonly unknown[] =>
  events.flatMap(event => (event.type === 'thread.goal' ? [[event.goal?.status, event.goal?.tokensUsed]] : []))

/** A thread with a goal that the scripted model works on. */
function pursuing(steps: Parameters<typeof scriptedModel>[0], goal: object = {}) {
  const { model, requests } = scriptedModel(steps)
  const tools: Tool[] = []
  const bench = workbench(model, { tools })
  const thread = startThread(bench)
  tools.push(...goalTools(thread))
  const change = { objective: 'Ship it', status: null, tokenBudget: undefined, ...goal }
  return { bench, thread, requests, change }
}

const done = (status: string, id: string) => [...calls('update_goal', { status }, id), finish()]

t.test('it goes on with a goal, turn after turn, until the model says that it is reached', async t => {
  const { bench, thread, requests, change } = pursuing([
    [...calls('get_goal', {}, 'c1'), finish()],
    [...says('half', 'm1'), finish()],
    done('complete', 'c2'),
    [...says('all', 'm2'), finish()],
  ])
  t.match(thread.changeGoal(change), { objective: 'Ship it', status: 'active', tokenBudget: null, tokensUsed: 0 })
  t.strictSame(thread.turns(), [], 'it starts only when the caller has answered')
  thread.pursue()
  await until(() => thread.goal?.status === 'complete' && !thread.busy)
  t.strictSame(
    thread.turns().map(turn => turn.status),
    ['completed', 'completed'],
  )
  t.match(shown(requests[0]?.context ?? []).join(), /Ship it/)
  t.strictSame(goalsOf(bench.events), [
    ['active', 110],
    ['active', 220],
    ['active', 220],
    ['active', 330],
    ['complete', 330],
  ])
  t.match(shown(requests[1]?.context ?? []).at(-1), /"tokensUsed":110/, 'get_goal tells what it has cost')
})

t.test('it starts no second turn after one in which the model did nothing', async t => {
  const { thread, change } = pursuing([[...says('nothing to do'), finish()]])
  thread.changeGoal(change)
  thread.pursue()
  await until(() => thread.turns().length === 1 && !thread.busy)
  await new Promise(resolve => setTimeout(resolve, 5))
  t.match([thread.turns().length, thread.goal?.status], [1, 'active'])
})

t.test('it stops work on a goal at its budget, on a failure, and when a person interrupts', async t => {
  const spent = pursuing(
    [
      [...calls('get_goal', {}, 'c1'), finish()],
      [...says('so far'), finish()],
    ],
    { tokenBudget: 100 },
  )
  spent.thread.changeGoal(spent.change)
  spent.thread.pursue()
  await until(() => spent.thread.turns().length === 1 && !spent.thread.busy)
  t.equal(spent.thread.goal?.status, 'budgetLimited')
  t.match(shown(spent.requests[1]?.context ?? []).at(-1), /budget .* is spent/, 'the turn may say what is left')
  t.match(spent.thread.changeGoal({ objective: null, status: 'active', tokenBudget: undefined }), {
    status: 'budgetLimited',
  })
  t.match(spent.thread.changeGoal({ objective: null, status: 'active', tokenBudget: null }), { status: 'active' })

  const broken = pursuing([[fails({ kind: 'network', message: 'gone' })]])
  broken.thread.changeGoal(broken.change)
  broken.thread.pursue()
  await until(() => broken.thread.goal?.status === 'blocked')

  const held = gate()
  const stopped = pursuing([[held.passed]])
  stopped.thread.changeGoal(stopped.change)
  stopped.thread.pursue()
  await until(() => stopped.requests.length === 1)
  const started = stopped.bench.events.find(event => event.type === 'turn.started')
  stopped.thread.interrupting(started?.type === 'turn.started' ? started.turn.id : '')!()
  await until(() => stopped.thread.goal?.status === 'paused')
  t.equal(stopped.thread.turns().length, 1)
})

t.test('it refuses goals that mean nothing, and keeps one over a restart', async t => {
  const { bench, thread } = await talked(['one'])
  const change = (more: object) => () =>
    thread.changeGoal({ objective: null, status: null, tokenBudget: undefined, ...more })
  t.throws(change({}), { message: `cannot update goal for thread ${thread.id}: no goal exists` })
  t.throws(change({ objective: ' ' }), { message: 'goal objective must not be empty' })
  for (const tokenBudget of [0, -1, Number.NaN]) {
    t.throws(change({ objective: 'x', tokenBudget }), { message: 'goal budgets must be positive when provided' })
  }
  change({ objective: 'x', tokenBudget: 5, status: 'paused' })()
  await thread.close()
  const again = workbench(scriptedModel([]).model, { home: bench.home }).threads.load(thread.id)
  t.match(again.goal, { objective: 'x', tokenBudget: 5, status: 'paused' })
  t.equal(again.clearGoal(), true)
  t.equal(again.clearGoal(), false)
  t.match(again.changeGoal({ objective: 'y', status: 'paused', tokenBudget: undefined }), { tokenBudget: null })
})

const entry = (id: string) => ({ id, clientId: `c-${id}`, input: text(id), metadata: null })

t.test('it gives each queued input a turn of its own, in order, before work on the goal', async t => {
  const held = gate()
  const { bench, thread, requests, change } = pursuing([
    [held.passed, ...says('now', 'm0'), finish()],
    [...says('first', 'm1'), finish()],
    [...says('second', 'm2'), finish()],
    [...says('goal', 'm3'), finish()],
  ])
  thread.startTurn(start('now')).begin()
  thread.changeQueue([entry('a'), entry('b')])
  thread.wake()
  thread.changeGoal(change)
  held.open()
  await until(() => thread.turns().length === 4 && !thread.busy)
  t.strictSame(
    requests.map(({ context }) => shown(context).at(-1)?.slice(0, 17)),
    ['now', 'a', 'b', '<internal_context'],
  )
  t.strictSame(thread.queue, [])
  t.equal(bench.events.filter(event => event.type === 'thread.queue').length, 2, 'each start of one is told')
  t.match(thread.turns()[1]?.items[0], { type: 'userMessage', clientId: 'c-a' })
})

t.test('it keeps the queue over a restart and starts nothing before somebody asks', async t => {
  const { bench, thread } = await talked(['one'])
  thread.changeQueue([entry('a'), entry('b')])
  await thread.close()
  const again = workbench(
    scriptedModel([
      [...says('b', 'm1'), finish()],
      [...says('a', 'm2'), finish()],
    ]).model,
    {
      home: bench.home,
    },
  )
  const loaded = again.threads.load(thread.id)
  loaded.pursue()
  t.equal(loaded.busy, false)
  t.strictSame(loaded.queue, [entry('a'), entry('b')])
  t.throws(() => loaded.startQueued('zzz'), { message: 'queued submission not found: zzz' })
  loaded.startQueued('b').begin()
  await until(() => loaded.turns().length === 3 && !loaded.busy)
  t.strictSame(loaded.queue, [], 'a turn that completes lets the rest follow')
  t.throws(() => loaded.startQueued(null), { message: 'the queue is empty' })
})

t.test('it holds the queue when a turn was interrupted', async t => {
  const held = gate()
  const bench = workbench(scriptedModel([[held.passed], [...says('a', 'm1'), finish()]]).model)
  const thread = startThread(bench)
  const end = bench.turnEnd()
  const { turn, begin } = thread.startTurn(start('go'))
  begin()
  thread.changeQueue([entry('a')])
  thread.interrupting(turn.id)!()
  await end
  await new Promise(resolve => setTimeout(resolve, 5))
  t.strictSame([thread.busy, thread.queue.length], [false, 1])
  thread.wake()
  await until(() => thread.queue.length === 0 && !thread.busy)
  t.equal(thread.turns().at(-1)?.status, 'completed')
})

t.test('it counts the questions of a client and never below zero', async t => {
  const thread = startThread(workbench(scriptedModel([]).model))
  t.strictSame(
    [thread.countElicitation(1), thread.countElicitation(1), thread.countElicitation(-1), thread.countElicitation(-1)],
    [1, 2, 1, 0],
  )
  t.throws(() => thread.countElicitation(-1), { message: 'out-of-band elicitation count is already zero' })
})

t.test('it shows the model what was injected, which no turn shows', async t => {
  const { bench, thread, requests } = await talked([])
  thread.inject([{ type: 'text', text: 'injected', id: null, phase: null }])
  t.ok(existsSync(join(thread.path!)), 'it makes the file')
  await say(bench, thread, 'go')
  t.strictSame(shown(requests[0]?.context ?? []), ['injected', 'go'])
  t.equal(thread.turns()[0]?.items.length, 2)
})
