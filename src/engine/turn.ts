import type { Clock } from '../base/clock.ts'
import type { ApprovalAsk, Decision } from './approvals.ts'
import type { EngineEvent, ThreadSettings, ThreadUsage, TurnError, TurnStatus, TurnView } from './events.ts'
import type { DeltaPart, Item, UserMessage } from './items.ts'
import type { ContextEntry, Model, ModelRequest, Opaque, Usage } from './models/model.ts'
import type { RetryPlan } from './models/retry.ts'
import { type ItemRoad, Response } from './response.ts'
import type { Entry } from './store/records.ts'
import type { Grants, Tool } from './tools/tool.ts'
import { runCalls } from './turn-calls.ts'

/** What a turn may do to the thread it runs in. */
export interface TurnHost {
  readonly threadId: string
  readonly now: Clock
  readonly grants: Grants
  settings(): ThreadSettings
  /** The model for this step and the tools it may call. Rejects with an `EngineError` when there is none to be had. */
  prepare(outputSchema: unknown): Promise<Prepared>
  /** Writes one record and folds it into the history. */
  record(entry: Entry): void
  /** Resolves when what was recorded survives a power cut. */
  sync(): Promise<void>
  emit(event: EngineEvent): void
  /** The turn is over and durable: the thread's status is idle again, or systemError when the turn failed. */
  released(failed: boolean): void
  /** Keeps text of an item that still grows, as far as the disk is quick. `item` is as it started. */
  journal(turnId: string, item: Item, grown: { readonly part: DeltaPart; readonly delta: string }): void
  claimItemId(wanted: string | null): string
  addUsage(turnId: string, usage: Usage): ThreadUsage
  /** A tool changed files. Publishes the turn's whole diff. */
  filesChanged(turnId: string, changes: readonly ChangedFile[]): void
  ask(ask: ApprovalAsk, signal: AbortSignal): Promise<Decision>
  /** What the model should be shown of a message, where that is more than its text. */
  contextOf(message: UserMessage): ContextEntry | null
}

/** What a tool did to a file; null stands for "not there". */
export interface ChangedFile {
  readonly path: string
  readonly before: Buffer | null
  readonly after: Buffer | null
}

export interface Prepared {
  readonly model: Model
  readonly tools: readonly Tool[]
  readonly request: ModelRequest
  readonly retries: RetryPlan
}

export interface TurnStart {
  readonly id: string
  readonly work: TurnWork
}

/** What a turn does: run the agent on a message, or one task that needs no model. */
export type TurnWork =
  | {
      readonly type: 'agent'
      readonly message: UserMessage
      readonly outputSchema: unknown
      /** What only the model is told, before the message. */
      readonly opening?: ContextEntry
    }
  | { readonly type: 'task'; readonly run: Task }

/** Resolves with why it failed, or null. What it starts it completes. */
export type Task = (cx: TaskContext) => Promise<TurnError | null>

/** What a task may do to its turn. */
export interface TaskContext {
  readonly turnId: string
  readonly items: ItemRoad
  readonly signal: AbortSignal
  /** Shows the model something in later requests. */
  show(entry: ContextEntry): void
}

interface OpenItem {
  readonly item: Item
  readonly index: number
  readonly startedAt: number
  /** Deltas so far, so that somebody who joins now can be given the text. */
  text: string
}

/** One run of the agent: model step, tools, model step, until the model has nothing more to do. */
export class Turn implements ItemRoad {
  readonly id: string
  readonly #host: TurnHost
  readonly #start: TurnStart
  readonly #abort = new AbortController()
  readonly #open = new Map<string, OpenItem>()
  readonly #steering: UserMessage[] = []
  readonly #beside = new Set<Promise<void>>()
  readonly #shown: ContextEntry[] = []
  #items = 0
  #acted = false
  #startedAt: number | null = null
  #state: 'waiting' | 'running' | 'settling' | 'done' = 'waiting'
  #result: Pick<TurnView, 'status' | 'error' | 'completedAt' | 'durationMs'> | null = null

  constructor(host: TurnHost, start: TurnStart) {
    this.id = start.id
    this.#host = host
    this.#start = start
  }

  /** Whether the model has called a tool in it. */
  get acted(): boolean {
    return this.#acted
  }

  get state(): 'waiting' | 'running' | 'settling' | 'done' {
    return this.#state
  }

  /** Whether it has been interrupted and is on its way out. */
  get stopping(): boolean {
    return this.#abort.signal.aborted
  }

  view(): TurnView {
    const open = { status: 'inProgress' as const, error: null, completedAt: null, durationMs: null }
    return { id: this.id, startedAt: this.#startedAt, items: [], ...(this.#result ?? open) }
  }

  /** Items that have started and not completed, with the text that has come so far. */
  openItems(): readonly {
    readonly item: Item
    readonly index: number
    readonly startedAt: number
    readonly text: string
  }[] {
    return [...this.#open.values()]
  }

  /** Hands the running turn more to read; it is taken in between two model responses. */
  steer(message: UserMessage): void {
    this.#steering.push(message)
  }

  /**
   * Runs a task beside the agent in this turn: the turn does not end before it does, and the model gets to read what it
   * shows before the turn is over.
   */
  beside(run: Task): void {
    const show = (entry: ContextEntry): void => this.show(entry)
    const done = run({ turnId: this.id, items: this, signal: this.#abort.signal, show }).then(
      () => {},
      () => {},
    )
    this.#beside.add(done)
    void done.then(() => this.#beside.delete(done))
  }

  /** Has the model read something before its next response, in this turn. */
  show(entry: ContextEntry): void {
    this.#shown.push(entry)
  }

  interrupt(): void {
    this.#abort.abort(new Error('interrupted'))
  }

  /** Runs to the end. Never rejects: a failure is how the turn ends. */
  async run(): Promise<void> {
    const host = this.#host
    this.#state = 'running'
    this.#startedAt = host.now()
    host.record({ t: 'turn', turn: this.id, startedAt: this.#startedAt })
    host.emit({ type: 'turn.started', threadId: host.threadId, turn: this.view() })
    const { work } = this.#start
    try {
      if (work.type === 'agent') await this.#agent(work)
      else await this.#task(work.run)
    } catch (error) {
      await this.#finish('failed', { message: messageOf(error), details: null, kind: 'other', status: null })
    }
  }

  async #task(run: Task): Promise<void> {
    const host = this.#host
    const show = (entry: ContextEntry): void => host.record({ t: 'context', turn: this.id, entry })
    const { signal } = this.#abort
    const failed = await run({ turnId: this.id, items: this, signal, show })
    await this.#finish(signal.aborted ? 'interrupted' : failed ? 'failed' : 'completed', signal.aborted ? null : failed)
  }

  async #agent({ message, outputSchema, opening }: Extract<TurnWork, { type: 'agent' }>): Promise<void> {
    if (opening) this.#host.record({ t: 'context', turn: this.id, entry: opening })
    // A turn may be started on nothing, to go on with what is there.
    if (message.content.length > 0) this.#say(message)
    // What was asked is on the medium before a model hears of it: an accepted message is never lost.
    await this.#host.sync()
    for (;;) {
      const step = await this.#respond(outputSchema)
      if ('failed' in step || this.#abort.signal.aborted) await Promise.all(this.#beside)
      if (this.#abort.signal.aborted) return this.#finish('interrupted', null)
      if ('failed' in step) return this.#finish('failed', step.failed)
      this.#acted ||= step.response.calls.length > 0
      await runCalls(step.response.calls, step.tools, this.#callRoad())
      await Promise.all(this.#beside)
      if (this.#abort.signal.aborted) return this.#finish('interrupted', null)
      const steered = this.#takeSteering()
      if (step.response.calls.length === 0 && !steered) return this.#finish('completed', null)
    }
  }

  /** One model response, tried again as often as its provider's settings allow. */
  async #respond(
    outputSchema: unknown,
  ): Promise<{ response: Response; tools: readonly Tool[] } | { failed: TurnError }> {
    const prepared = await this.#host.prepare(outputSchema)
    const { model, request, retries, tools } = prepared
    for (;;) {
      const response = new Response(this)
      await model.stream(request, event => response.on(event), this.#abort.signal)
      const { failure } = response
      if (!failure || this.#abort.signal.aborted) {
        response.close(true)
        if (response.usage) this.#usage(response.usage)
        return { response, tools }
      }
      const next = retries.after(failure)
      // The part of an answer that a retry throws away stays on the screen, but the model is not shown it.
      response.close(next.type === 'fail')
      if (next.type === 'fail') return { failed: next.error }
      if (next.notice) this.#error(next.notice, true)
      await pause(next.delayMs, this.#abort.signal)
      if (this.#abort.signal.aborted) return { response, tools }
    }
  }

  /** Ends the turn, exactly once: items first, then the durable record, then the news. */
  async #finish(status: TurnStatus, error: TurnError | null): Promise<void> {
    if (this.#state === 'settling' || this.#state === 'done') return
    this.#state = 'settling'
    const host = this.#host
    for (const open of [...this.#open.values()]) this.complete(open.item, { context: false })
    const completedAt = host.now()
    const durationMs = completedAt - (this.#startedAt ?? completedAt)
    this.#result = { status, error, completedAt, durationMs }
    if (status === 'interrupted') host.record({ t: 'context', turn: this.id, entry: INTERRUPTED })
    host.record({ t: 'end', turn: this.id, status, error, completedAt, durationMs })
    await this.#host.sync()
    this.#state = 'done'
    host.released(error !== null)
    if (error) this.#error(error, false)
    host.emit({ type: 'turn.completed', threadId: host.threadId, turn: this.view() })
  }

  // The road that items take, whether a response or a tool makes them.

  claimId(wanted: string | null): string {
    return this.#host.claimItemId(wanted)
  }

  start(item: Item): void {
    const host = this.#host
    const at = host.now()
    const index = this.#items++
    this.#open.set(item.id, { item, index, startedAt: at, text: '' })
    host.emit({ type: 'item.started', threadId: host.threadId, turnId: this.id, item, index, at })
  }

  delta(itemId: string, part: DeltaPart, delta: string): void {
    const open = this.#open.get(itemId)
    if (!open) return
    if (part.type === 'text' || part.type === 'output' || part.type === 'plan') open.text += delta
    const host = this.#host
    host.emit({ type: 'item.delta', threadId: host.threadId, turnId: this.id, itemId, index: open.index, part, delta })
    host.journal(this.id, open.item, { part, delta })
  }

  complete(item: Item, about: { readonly context: boolean; readonly opaque?: Opaque }): void {
    const host = this.#host
    const at = host.now()
    const open = this.#open.get(item.id)
    const index = open?.index ?? this.#items++
    this.#open.delete(item.id)
    host.record({
      t: 'item',
      turn: this.id,
      item,
      startedAt: open?.startedAt ?? at,
      completedAt: at,
      context: about.context,
      ...(about.opaque && Object.keys(about.opaque).length > 0 ? { opaque: about.opaque } : {}),
    })
    host.emit({ type: 'item.completed', threadId: host.threadId, turnId: this.id, item, index, at })
  }

  #say(message: UserMessage): void {
    const entry = this.#host.contextOf(message)
    this.start(message)
    this.complete(message, { context: entry === null })
    if (entry) this.#host.record({ t: 'context', turn: this.id, entry })
  }

  /** Between two responses no call waits for its result, so this is where anything else may be shown to the model. */
  #takeSteering(): boolean {
    const shown = this.#shown.splice(0)
    for (const entry of shown) this.#host.record({ t: 'context', turn: this.id, entry })
    const taken = this.#steering.splice(0)
    for (const message of taken) this.#say(message)
    return taken.length + shown.length > 0
  }

  #usage(usage: Usage): void {
    const host = this.#host
    host.emit({ type: 'usage', threadId: host.threadId, turnId: this.id, usage: this.#host.addUsage(this.id, usage) })
  }

  #error(error: TurnError, willRetry: boolean): void {
    const host = this.#host
    host.emit({ type: 'error', threadId: host.threadId, turnId: this.id, error, willRetry })
  }

  #callRoad(): Parameters<typeof runCalls>[2] {
    return {
      host: this.#host,
      turnId: this.id,
      items: this,
      signal: this.#abort.signal,
      interrupt: () => this.interrupt(),
    }
  }
}

/** What the model is told of a turn that a person stopped. */
export const INTERRUPTED: ContextEntry = {
  type: 'message',
  role: 'user',
  parts: [
    {
      type: 'text',
      text: '<turn_aborted>\nThe user stopped this turn on purpose. Commands that were running have been ended and may have done part of their work; check before you repeat them.\n</turn_aborted>',
    },
  ],
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Resolves after `ms`, or at once when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
