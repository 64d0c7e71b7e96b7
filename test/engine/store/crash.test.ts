import t from 'tap'
import type { EngineEvent, TurnView } from '../../../src/engine/events.ts'
import { Store } from '../../../src/engine/store/store.ts'
import type { Tool } from '../../../src/engine/tools/tool.ts'
import {
  calls,
  finish,
  says,
  scriptedModel,
  startThread,
  text,
  type Workbench,
  workbench,
} from '../../support/scripted.ts'
import { FakeDisk, type Fault, fakeMachine, type Remains } from './fake-disk.ts'

/** What a session of three turns did, seen from outside. */
interface Session {
  readonly disk: FakeDisk
  readonly id: string
  /** Turns as the process had them when it ended. */
  readonly turns: readonly TurnView[]
  /** Turns whose end had been announced before the crash. */
  readonly announced: readonly string[]
  readonly warnings: readonly string[]
}

const look: Tool = {
  spec: { name: 'look', description: '' },
  async run(call, cx) {
    const item = {
      type: 'command',
      id: call.id,
      command: 'ls',
      cwd: '/work',
      processId: null,
      source: 'agent',
      actions: [],
      exitCode: 0,
      durationMs: 1,
    } as const
    cx.startItem({ ...item, status: 'inProgress', output: null, exitCode: null, durationMs: null })
    cx.completeItem({ ...item, status: 'completed', output: 'a file' })
    return { parts: [{ type: 'text', text: 'a file' }], isError: false }
  },
}

const steps = [
  [...says('one', 'msg_1'), finish()],
  [...says('looking', 'msg_2'), ...calls('look', {}, 'call_1').map(event => ({ ...event, index: 1 })), finish()],
  [...says('two', 'msg_3'), finish()],
  [...says('three', 'msg_4'), finish()],
]

const store = (disk: FakeDisk, pid: number, alive: readonly number[]): Store =>
  new Store({ disk, root: '/home/sessions', now: () => 1_000_000_000_000, machine: fakeMachine(pid, new Set(alive)) })

async function say(bench: Workbench, thread: ReturnType<typeof startThread>, words: string): Promise<void> {
  const end = bench.turnEnd()
  thread.startTurn({ input: text(words), clientId: null }).begin()
  await end
}

/** Plays the session with one fault, or with none. */
async function play(fault: Fault | null): Promise<Session> {
  const disk = new FakeDisk()
  disk.fault = fault
  const bench = workbench(scriptedModel(steps).model, { tools: [look], store: store(disk, 1, [1]) })
  let seen = Number.POSITIVE_INFINITY
  disk.onCrash = () => {
    seen = bench.events.length
  }
  const thread = startThread(bench)
  for (const words of ['first', 'second', 'third']) await say(bench, thread, words)
  const turns = thread.turns()
  await thread.close()
  const announced = bench.events
    .slice(0, seen)
    .flatMap(event => (event.type === 'turn.completed' ? [event.turn.id] : []))
  return { disk, id: thread.id, turns, announced, warnings: bench.events.flatMap(warningIn) }
}

const warningIn = (event: EngineEvent): readonly string[] => (event.type === 'warning' ? [event.message] : [])

/**
 * What is wrong after a new process has gone on with what is left: an announced turn that is not whole, a turn nobody
 * said anything of, an order that changed, a line that cannot be read, a next turn that fails.
 */
async function faultsIn(session: Session, remains: Remains): Promise<readonly string[]> {
  const disk = new FakeDisk(remains)
  const bench = workbench(scriptedModel([[...says('after', 'msg_9'), finish()]]).model, { store: store(disk, 2, [2]) })
  const before = bench.threads.stored(session.id)
  if (!before) return session.announced.map(id => `turn ${id} was announced and its thread is gone`)
  const wrong = difference(session, before.history.turns())
  const thread = bench.threads.load(session.id)
  wrong.push(...difference(session, thread.turns()))
  await say(bench, thread, 'next')
  const live = thread.turns()
  await thread.close()
  const again = store(disk, 3, [3]).read(session.id)
  if (live.at(-1)?.status !== 'completed') wrong.push('the next turn failed')
  if (JSON.stringify(again?.history.turns()) !== JSON.stringify(live))
    wrong.push('a reader sees other turns than the server')
  if (again?.bad !== 0) wrong.push(`${again?.bad} lines cannot be read`)
  const lines = disk
    .text(again?.path ?? '')
    .trim()
    .split('\n')
  const ordinals = lines.map(line => Number(JSON.parse(line).n))
  if (ordinals.some((n, at) => n !== at)) wrong.push(`ordinals are ${ordinals.join(' ')}`)
  return wrong
}

/** Announced turns are whole; the others are a beginning of what happened, the last one at most interrupted. */
function difference(session: Session, found: readonly TurnView[]): string[] {
  const wrong: string[] = []
  found.forEach((turn, at) => {
    const real = session.turns[at]
    if (turn.id !== real?.id) {
      wrong.push(`turn ${at} is another one`)
      return
    }
    if (JSON.stringify(turn) === JSON.stringify(real)) return
    if (session.announced.includes(turn.id)) wrong.push(`turn ${at} was announced and has changed`)
    if (at < found.length - 1 || turn.status !== 'interrupted')
      wrong.push(`turn ${at} is neither whole nor interrupted`)
    const items = JSON.stringify(real.items.slice(0, turn.items.length))
    if (JSON.stringify(turn.items) !== items) wrong.push(`turn ${at} has items that never were`)
  })
  const lost = session.announced.filter(id => !found.some(turn => turn.id === id))
  return [...wrong, ...lost.map(id => `turn ${id} was announced and is lost`)]
}

/** A sequence that is the same in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

t.test('it loses nothing that was announced, whichever call of the disk is the last', async t => {
  const { disk } = await play(null)
  const random = seeded(4)
  const wrong: string[] = []
  let cases = 0
  for (let at = 0; at < disk.calls.length; at++) {
    const session = await play({ at, kind: 'crash', code: 'ECRASH' })
    const remains = {
      'killed process': session.disk.kept(),
      'power cut, rest lost': session.disk.cut(() => 0),
      'power cut, rest torn': session.disk.cut(length => Math.floor(random() * length)),
      'power cut, rest kept': session.disk.cut(length => length),
    }
    for (const [how, left] of Object.entries(remains)) {
      cases++
      const faults = await faultsIn(session, left)
      wrong.push(...faults.map(fault => `${how} at ${at} (${disk.calls[at]}): ${fault}`))
    }
  }
  t.strictSame(wrong, [])
  t.ok(cases > 200, `${cases} cases`)
})

t.test('it writes everything in the end when one call of the disk fails or is cut short', async t => {
  const { disk } = await play(null)
  const wrong: string[] = []
  for (let at = 0; at < disk.calls.length; at++) {
    for (const fault of [
      { at, kind: 'error', code: 'EIO' },
      { at, kind: 'error', code: 'ENOSPC' },
      { at, kind: 'short', code: '' },
    ] as const) {
      const session = await play(fault)
      const whole = { ...session, announced: session.turns.map(turn => turn.id) }
      const faults = await faultsIn(whole, session.disk.kept())
      wrong.push(...faults.map(text => `${fault.kind} ${fault.code} at ${at} (${disk.calls[at]}): ${text}`))
    }
  }
  t.strictSame(wrong, [])
})
