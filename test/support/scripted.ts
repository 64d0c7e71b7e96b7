import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Decision } from '../../src/engine/approvals.ts'
import { Desk } from '../../src/engine/desk.ts'
import type { EngineEvent, ThreadSettings } from '../../src/engine/events.ts'
import type { Input } from '../../src/engine/items.ts'
import type { Model, ModelEvent, ModelFailure, ModelRequest } from '../../src/engine/models/model.ts'
import { realDisk } from '../../src/engine/store/disk.ts'
import { Store } from '../../src/engine/store/store.ts'
import type { ThreadServices } from '../../src/engine/thread.ts'
import { Threads } from '../../src/engine/threads.ts'
import type { Tool } from '../../src/engine/tools/tool.ts'

/** One step of a scripted model: what it emits, and a gate it may wait at before it goes on. */
export type Step = readonly (ModelEvent | Promise<void>)[]

/** A model that plays one step a request and keeps what it was asked. An abort ends it at once. */
export function scriptedModel(steps: readonly Step[]): { readonly model: Model; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const model: Model = {
    info: {
      id: 'scripted',
      provider: 'test',
      displayName: 'Scripted',
      description: '',
      efforts: [],
      defaultEffort: 'medium',
      images: true,
      contextWindow: 1000,
      freeformTools: true,
      known: true,
    },
    async stream(request, emit, signal) {
      const step = steps[requests.length] ?? [says('(script exhausted)'), finish()].flat()
      requests.push({ ...request, context: [...request.context] })
      if (signal.aborted) return emit({ type: 'error', error: { kind: 'aborted', message: 'aborted' } })
      const aborted = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      for (const event of step) {
        if (event instanceof Promise) await Promise.race([event, aborted])
        if (signal.aborted) return emit({ type: 'error', error: { kind: 'aborted', message: 'aborted' } })
        if (!(event instanceof Promise)) emit(event)
      }
    },
  }
  return { model, requests }
}

const usage = { input: 100, cached: 10, cacheWrite: 0, output: 20, reasoning: 5, total: 120 }

export const finish = (): ModelEvent => ({ type: 'finish', reason: 'stop', usage })

export const fails = (error: ModelFailure): ModelEvent => ({ type: 'error', error })

/** A whole message in these deltas, as the item `id`. */
export function says(text: string, id = 'msg', index = 0): readonly ModelEvent[] {
  return [
    { type: 'item.start', index, item: { type: 'text', id, phase: null } },
    ...text.split(/(?<= )/).map((delta): ModelEvent => ({ type: 'text', index, delta })),
    { type: 'item.end', index, item: { type: 'text', id, text, phase: null } },
  ]
}

export function calls(name: string, args: object, id = 'call_1'): readonly ModelEvent[] {
  const call = { type: 'call', id, name, namespace: null, freeform: false, opaque: {} } as const
  return [{ type: 'item.end', index: 0, item: { ...call, args: JSON.stringify(args) } }]
}

/** A promise and the function that fulfils it. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}

export const settings: ThreadSettings = {
  model: 'scripted',
  provider: 'test',
  cwd: '/work',
  workspaceRoots: ['/work'],
  approvalPolicy: 'never',
  sandbox: { type: 'dangerFullAccess' },
  permissionProfile: null,
  effort: null,
  summary: null,
  serviceTier: null,
  personality: null,
  mode: 'default',
  modeInstructions: null,
  baseInstructions: null,
  developerInstructions: null,
}

export interface Workbench {
  readonly threads: Threads
  readonly events: EngineEvent[]
  readonly desk: Desk
  readonly home: string
  /** Resolves when the next turn of any thread has completed. */
  turnEnd(): Promise<void>
}

/** Threads over a scripted model and a real store in a folder of its own. */
export function workbench(
  model: Model,
  more: {
    readonly tools?: readonly Tool[]
    readonly unattendedMs?: number
    readonly home?: string
    readonly retries?: number
    readonly store?: Store
    /** Milliseconds until an idle thread that nobody follows leaves memory. */
    readonly unloadMs?: number
    readonly attended?: (threadId: string) => boolean
  } = {},
): Workbench {
  const home = more.home ?? mkdtempSync(join(tmpdir(), 'skein-test-'))
  const events: EngineEvent[] = []
  let ended: (() => void)[] = []
  let time = 1_000_000_000_000
  const now = (): number => time++
  const emit = (event: EngineEvent): void => {
    events.push(event)
    if (event.type !== 'turn.completed') return
    for (const resolve of ended) resolve()
    ended = []
  }
  const desk = new Desk({
    emit,
    changed: id => threads.loaded(id)?.refreshStatus(),
    unattendedMs: () => more.unattendedMs ?? 0,
  })
  const prepare: ThreadServices['prepare'] = async (thread, outputSchema) => {
    let left = more.retries ?? 0
    const error = (failure: ModelFailure) => ({
      message: failure.message,
      details: null,
      kind: 'other' as const,
      status: null,
    })
    return {
      model,
      tools: more.tools ?? [],
      retries: {
        after: failure =>
          left-- > 0
            ? { type: 'retry', delayMs: 0, notice: { ...error(failure), message: 'Reconnecting...' } }
            : { type: 'fail', error: error(failure) },
      },
      request: {
        instructions: 'base',
        context: thread.context,
        tools: [],
        effort: null,
        summary: null,
        serviceTier: null,
        outputSchema,
        cacheKey: thread.id,
      },
    }
  }
  const store = more.store ?? new Store({ disk: realDisk, root: join(home, 'sessions'), now })
  const services = { store, now, desk, emit, prepare, warn() {} }
  const threads = new Threads({
    services,
    now,
    unloadMs: more.unloadMs ?? 60_000,
    attended: more.attended ?? (() => true),
  })
  return { threads, events, desk, home, turnEnd: () => new Promise(resolve => ended.push(resolve)) }
}

export function startThread(
  bench: Workbench,
  more: { readonly ephemeral?: boolean } = {},
): ReturnType<Threads['start']> {
  return bench.threads.start({
    settings,
    config: {},
    ephemeral: more.ephemeral ?? false,
    clientTools: [],
    threadSource: null,
    originator: 'test',
    cliVersion: '1',
    gitInfo: null,
    createdAt: 999_999_999_999,
  })
}

export const text = (words: string): readonly Input[] => [{ type: 'text', text: words, elements: [] }]

/** An event in one line: enough to compare the order of things. */
export function brief(event: EngineEvent): string {
  switch (event.type) {
    case 'thread.status':
      return `status ${event.status.type}${event.status.type === 'active' && event.status.waitingOn.length > 0 ? ' waiting' : ''}`
    case 'turn.started':
      return 'turn.started'
    case 'turn.completed':
      return `turn.completed ${event.turn.status}`
    case 'item.started':
    case 'item.completed':
      return `${event.type} ${event.index} ${event.item.type}${event.item.type === 'agentMessage' ? ` ${JSON.stringify(event.item.text)}` : ''}`
    case 'item.delta':
      return `delta ${event.part.type} ${JSON.stringify(event.delta)}`
    case 'error':
      return `error ${event.error.message}${event.willRetry ? ' (will retry)' : ''}`
    default:
      return event.type
  }
}

export const accept: Decision = { type: 'accept' }
