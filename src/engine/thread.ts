import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { JsonObject } from '../base/json.ts'
import type { ApprovalAsk, Decision } from './approvals.ts'
import type { Desk } from './desk.ts'
import { EngineError } from './errors.ts'
import type {
  EngineEvent,
  Goal,
  QueuedInput,
  ReadState,
  ThreadSettings,
  ThreadStatus,
  ThreadUsage,
  ThreadView,
  TurnView,
} from './events.ts'
import { readGitInfo } from './git-info.ts'
import { type GoalChange, goalAfter, goalAfterTurn, goalAfterUsage, goalPrompt, spentPrompt } from './goal.ts'
import { History } from './history.ts'
import { checkLength } from './input-length.ts'
import type { Input, Item, UserMessage } from './items.ts'
import type { ContextEntry, Usage } from './models/model.ts'
import { type Queue, queued, removed } from './queue.ts'
import type { Log } from './store/log.ts'
import type { LogNews } from './store/log-file.ts'
import type { Entry, Header } from './store/records.ts'
import type { Store } from './store/store.ts'
import { ThreadLog } from './thread-log.ts'
import { viewOf } from './thread-view.ts'
import type { ClientTool } from './tools/client-tool-specs.ts'
import type { Grants } from './tools/tool.ts'
import { INTERRUPTED, type Task, Turn, type TurnHost, type TurnWork } from './turn.ts'
import { diffRoot, TurnDiff } from './turn-diff.ts'
import { contextOf } from './user-context.ts'

/** What a thread needs from the engine around it. */
export interface ThreadServices {
  readonly store: Store
  readonly now: Clock
  readonly desk: Desk
  readonly emit: (event: EngineEvent) => void
  readonly prepare: (thread: Thread, outputSchema: unknown) => ReturnType<TurnHost['prepare']>
  /** Called whenever the thread may have become idle. */
  readonly rested: (thread: Thread) => void
  /** Called when another process has taken the thread's log: it is no longer ours to go on with. */
  readonly lost: (thread: Thread) => void
  readonly warn: (message: string) => void
}

export interface TurnInput {
  readonly input: readonly Input[]
  readonly clientId: string | null
  readonly outputSchema?: unknown
  /** Changes that hold from this turn on. */
  readonly overrides?: Partial<ThreadSettings>
}

export interface ThreadOrigin {
  readonly header: Header
  readonly ephemeral: boolean
  readonly clientTools: readonly ClientTool[]
  /** Set when the thread has a past. Without a log it is one that is never saved. */
  readonly stored?: { readonly log: Log | null; readonly history: History; readonly path: string }
}

interface Pending {
  readonly turn: Turn
  /** Settings that hold from this turn on. */
  readonly overrides: Partial<ThreadSettings> | null
  /** The thread started it for its goal. */
  readonly forGoal?: true
}

/** Facts of a thread that can be written whether it is in memory or not. */
export type Note = Extract<Entry, { readonly t: 'name' | 'git' | 'memory' | 'read' }>

/** One loaded conversation: its settings, its history, one running turn at most, and those that wait behind it. */
export class Thread {
  readonly id: string
  readonly ephemeral: boolean
  readonly clientTools: readonly ClientTool[]
  readonly grants: Grants = { exact: new Set(), prefixes: [] }
  readonly #services: ThreadServices
  readonly #warned = new Set<string>()
  readonly #header: Header
  readonly #history: History
  readonly #path: string
  readonly #log: ThreadLog
  #settings: ThreadSettings
  #turn: Turn | null = null
  readonly #pending: Pending[] = []
  #status: ThreadStatus = { type: 'idle' }
  readonly #taken = new Set<string>()
  /** What the running turn has done to files; made with its first change. */
  #diff: TurnDiff | null = null
  #closed = false
  /** Warnings that nobody was there to hear. */
  readonly #untold: string[] = []
  /** Another process has its log. */
  #lost = false
  /** Queued input waits for a person: the last turn did not end well, or nobody has done anything since the thread was loaded. */
  #held: boolean
  /** A turn that the goal started and in which the model did nothing: another one would do no more. */
  #barren = false
  readonly #idle: (() => void)[] = []
  #elicitations = 0
  #updatedAt: number

  constructor(origin: ThreadOrigin, services: ThreadServices) {
    const { header, stored } = origin
    this.id = header.id
    this.ephemeral = origin.ephemeral
    this.clientTools = origin.clientTools
    this.#services = services
    this.#header = header
    this.#history = stored?.history ?? new History()
    this.#path = stored?.path ?? services.store.pathFor(header.id, header.createdAt)
    this.#log = new ThreadLog({
      log: stored?.log ?? null,
      create: origin.ephemeral ? null : () => this.#create(),
      news: news => this.#storage(news),
    })
    this.#settings = stored?.history.settings ?? header.settings
    this.#held = stored !== undefined
    this.#updatedAt = stored ? stored.history.updatedAt : header.createdAt
    if (!stored) this.#history.apply(header, header.createdAt)
  }

  get settings(): ThreadSettings {
    return this.#settings
  }

  /** Where the thread works and what its start set over the configuration. */
  get scope(): { readonly cwd: string; readonly overrides: JsonObject } {
    return { cwd: this.#settings.cwd, overrides: this.#header.config }
  }

  get path(): string | null {
    return this.ephemeral ? null : this.#path
  }

  get status(): ThreadStatus {
    return this.#status
  }

  /** Whether anything has been said in it yet; before that it has no file. */
  get materialized(): boolean {
    return this.#log.exists || this.#history.turnCount > 0
  }

  get busy(): boolean {
    return this.#turn !== null || this.#pending.length > 0
  }

  get usage(): ThreadUsage | null {
    return this.#history.usage
  }

  /** The turn that the usage was told with. */
  get usageTurn(): string | null {
    return this.#history.usageTurn
  }

  get context(): readonly ContextEntry[] {
    return this.#history.context
  }

  get goal(): Goal | null {
    return this.#history.goal
  }

  /** Input that waits for turns of its own. */
  get queue(): Queue {
    return this.#history.queue
  }

  /** Id of the last turn, or null. */
  get lastTurn(): string | null {
    return this.#history.lastTurn
  }

  get readState(): ReadState {
    return this.#history.readState
  }

  view(): ThreadView {
    return viewOf(this.#history, this.#header, {
      status: this.#status,
      path: this.path,
      ephemeral: this.ephemeral,
      settings: this.#settings,
      updatedAt: this.#updatedAt,
    })
  }

  /** All turns, the running one too; its open items are left to `openItems`. */
  turns(): readonly TurnView[] {
    return this.#history.turns(this.#turn?.id ?? null)
  }

  /** Items of the running turn that have started and not completed. */
  openItems(): { readonly turnId: string; readonly items: ReturnType<Turn['openItems']> } | null {
    return this.#turn && { turnId: this.#turn.id, items: this.#turn.openItems() }
  }

  /**
   * Accepts a turn. It starts with `begin`, which the caller runs right after it has answered; a turn that finds another
   * one running waits for that to end.
   */
  startTurn(input: TurnInput): { readonly turn: TurnView; readonly begin: () => void } {
    checkLength(input.input)
    const message = this.#message(input)
    const work = { type: 'agent', message, outputSchema: input.outputSchema ?? null } as const
    return this.#enqueue(work, input.overrides ?? null)
  }

  /** Accepts a turn that runs one task instead of the agent. */
  startTask(run: Task): { readonly turn: TurnView; readonly begin: () => void } {
    return this.#enqueue({ type: 'task', run }, null)
  }

  /** Runs a task beside the running turn, or as a turn of its own. */
  runTask(run: Task): void {
    if (this.#turn?.state === 'running') this.#turn.beside(run)
    else this.startTask(run).begin()
  }

  #enqueue(
    work: TurnWork,
    overrides: Partial<ThreadSettings> | null,
  ): { readonly turn: TurnView; readonly begin: () => void } {
    if (this.#closed) throw new EngineError('threadNotFound', `thread not found: ${this.id}`)
    if (this.#log.full) throw new EngineError('storage', 'The disk cannot be written: no new turn until it can')
    const turn = new Turn(this.#host(), { id: newId(), work })
    this.#pending.push({ turn, overrides })
    return { turn: turn.view(), begin: () => this.#next() }
  }

  /** Gives the running turn more to read. Throws when none runs or it is not the expected one. */
  steer(expectedTurnId: string, input: TurnInput): string {
    if (expectedTurnId === '') throw new EngineError('inputEmpty', 'expectedTurnId must not be empty')
    const turn = this.#turn
    if (turn?.state !== 'running') throw new EngineError('noActiveTurn', 'no active turn to steer')
    if (turn.id !== expectedTurnId) {
      throw new EngineError('turnMismatch', `expected active turn id \`${expectedTurnId}\` but found \`${turn.id}\``)
    }
    if (input.input.length === 0) throw new EngineError('inputEmpty', 'input must not be empty')
    checkLength(input.input)
    turn.steer(this.#message(input))
    return turn.id
  }

  /**
   * Says whether interrupting `turnId` means anything, and how to do it: the caller answers first. Throws only for an id
   * that this thread never had while another turn runs.
   */
  interrupting(turnId: string): (() => void) | null {
    const queued = this.#pending.find(p => p.turn.id === turnId)
    if (queued) return () => this.#drop(queued)
    const turn = this.#turn
    if (turn && (turn.id === turnId || turnId === '')) return () => turn.interrupt()
    if (!turn || this.#taken.has(turnId) || this.#history.hasTurn(turnId)) return null
    const data = { expectedTurnId: turnId, activeTurnId: turn.id }
    throw new EngineError('turnMismatch', `expected active turn id ${turnId} but found ${turn.id}`, data)
  }

  /** Takes back the last `count` turns, all of them when there are fewer. Files stay as they are. */
  rollback(count: number): void {
    if (count < 1) throw new EngineError('invalidParams', 'numTurns must be >= 1')
    if (this.busy) throw new EngineError('turnInProgress', 'Cannot rollback while a turn is in progress.')
    const from = this.#history.turnBack(count)
    if (from !== null) this.#takeBack(from)
  }

  /** Takes back the turn `before` and all after it. */
  revert(before: string): void {
    if (this.busy) throw new EngineError('turnInProgress', 'Cannot revert while a turn is in progress.')
    if (!this.#history.hasTurn(before)) throw new EngineError('turnNotFound', `turn not found: ${before}`)
    this.#takeBack(before)
  }

  #takeBack(from: string): void {
    this.#record({ t: 'rollback', from })
    this.#setStatus({ type: 'idle' })
  }

  /** Shows the model something from now on that no turn shows. */
  inject(entries: readonly ContextEntry[]): void {
    for (const entry of entries) this.#record({ t: 'context', turn: null, entry })
  }

  /** Changes the goal. The caller answers, tells of it and then wakes the thread. */
  changeGoal(change: GoalChange): Goal {
    const now = this.#services.now()
    const goal = goalAfter(this.goal, change, { threadId: this.id, now })
    this.#barren = false
    this.#record({ t: 'goal', goal })
    return goal
  }

  /** Says whether there was one. */
  clearGoal(): boolean {
    if (!this.goal) return false
    this.#record({ t: 'goal', goal: null })
    return true
  }

  /** The model says how the work on the goal ends. */
  settleGoal(turnId: string, status: 'complete' | 'blocked'): Goal {
    if (!this.goal) throw new EngineError('invalidParams', 'no goal exists')
    const now = this.#services.now()
    const spent = now - (this.#turn?.view().startedAt ?? now)
    return this.#tellGoal(turnId, { ...this.goal, status, timeUsedMs: this.goal.timeUsedMs + spent, updatedAt: now })
  }

  #tellGoal(turnId: string, goal: Goal): Goal {
    this.#record({ t: 'goal', goal })
    this.#services.emit({ type: 'thread.goal', threadId: this.id, turnId, goal })
    return goal
  }

  /** Replaces the queue. The caller answers, tells of it and, when input was added, wakes the thread. */
  changeQueue(queue: Queue): void {
    this.#record({ t: 'queue', queue })
  }

  /** Accepts a turn on a queued input, the first one where `id` is null; see `startTurn`. */
  startQueued(id: string | null): { readonly turn: TurnView; readonly begin: () => void } {
    const entry = queued(this.queue, id)
    const started = this.#enqueue(this.#workOf(entry), null)
    this.#record({ t: 'queue', queue: removed(this.queue, entry.id) })
    return started
  }

  /** Works on the goal if nothing else is to be done. Queued input goes on waiting for whoever held it. */
  pursue(): void {
    this.#next()
  }

  /** Starts what the thread has to do by itself: somebody has asked for it. */
  wake(): void {
    this.#held = false
    this.#next()
  }

  #workOf({ input, clientId }: QueuedInput): TurnWork {
    return { type: 'agent', message: this.#message({ input, clientId }), outputSchema: null }
  }

  /** A turn that nobody has to ask for: queued input, then work on the goal. */
  #ownTurn(): Pending | undefined {
    if (this.#closed || this.#log.full) return undefined
    const [entry] = this.#held ? [] : this.queue
    if (entry) {
      this.#record({ t: 'queue', queue: removed(this.queue, entry.id) })
      this.#services.emit({ type: 'thread.queue', threadId: this.id })
      return { turn: new Turn(this.#host(), { id: newId(), work: this.#workOf(entry) }), overrides: null }
    }
    if (this.goal?.status !== 'active' || this.#barren || this.#settings.mode === 'plan') return undefined
    const message = this.#message({ input: [], clientId: null })
    const work = { type: 'agent', message, outputSchema: null, opening: goalPrompt(this.goal) } as const
    return { turn: new Turn(this.#host(), { id: newId(), work }), overrides: null, forGoal: true }
  }

  #ended({ turn, forGoal }: Pending): void {
    const end = turn.view()
    this.#held = end.status !== 'completed'
    this.#barren = forGoal === true && !turn.acted
    if (this.goal?.status === 'active') this.#tellGoal(turn.id, goalAfterTurn(this.goal, end, this.#services.now()))
  }

  /** Counts what a client's own tools ask people, outside of this server; returns how many questions are open. */
  countElicitation(by: 1 | -1): number {
    if (this.#elicitations + by < 0) {
      throw new EngineError('invalidParams', 'out-of-band elicitation count is already zero')
    }
    this.#elicitations += by
    return this.#elicitations
  }

  /** Resolves when what was written survives a power cut. */
  sync(): Promise<void> {
    return this.#log.sync()
  }

  /** Writes a fact that is no turn's. */
  note(entry: Note): void {
    this.#record(entry)
  }

  /** Gives the thread a file although nothing has been said in it. */
  materialize(): void {
    this.#log.create()
  }

  /** Takes no more turns and interrupts those it has; resolves when the last one has its durable end, or after `ms`. */
  async finish(ms: number): Promise<void> {
    this.#closed = true
    this.stop()
    if (!this.busy) return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#idle.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Interrupts everything, queued turns too. Used when the thread or the server goes down. */
  stop(): void {
    for (const pending of this.#pending.splice(0)) this.#drop(pending)
    this.#turn?.interrupt()
  }

  /** Changes settings from now on; says so when anything really changed. */
  change(overrides: Partial<ThreadSettings>): void {
    const next = { ...this.#settings, ...overrides }
    if (JSON.stringify(next) === JSON.stringify(this.#settings)) return
    this.#settings = next
    if (this.materialized) this.#record({ t: 'settings', settings: next })
    this.#services.emit({ type: 'thread.settings', threadId: this.id, settings: next })
  }

  /** Tells the user something, once per thread. */
  warnOnce(message: string): void {
    if (this.#warned.has(message)) return
    this.#warned.add(message)
    this.#services.emit({ type: 'warning', threadId: this.id, message })
  }

  /** Tells the user something as soon as somebody follows the thread. */
  warnWhenHeard(message: string): void {
    this.#untold.push(message)
  }

  /** Somebody follows it now. */
  heard(): void {
    for (const message of this.#untold.splice(0)) this.warnOnce(message)
  }

  /** Recomputes what the thread waits on. */
  refreshStatus(): void {
    // A turn that is being stopped waits for nothing more.
    if (this.#status.type === 'active' && !this.#turn?.stopping) {
      this.#setStatus({ type: 'active', waitingOn: this.#services.desk.waitingOn(this.id) })
    }
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#log.close()
  }

  #message(input: TurnInput): UserMessage {
    return { type: 'userMessage', id: newId(), clientId: input.clientId, content: input.input }
  }

  /** Starts the next turn that waits, if none runs. */
  #next(): void {
    if (this.#turn) return
    const pending = this.#pending.shift() ?? this.#ownTurn()
    if (!pending) {
      for (const resolve of this.#idle.splice(0)) resolve()
      return this.#services.rested(this)
    }
    const { turn, overrides } = pending
    this.#turn = turn
    this.#taken.add(turn.id)
    if (overrides) this.change(overrides)
    this.#diff = null
    this.#setStatus({ type: 'active', waitingOn: [] })
    this.#endUnfinished()
    void turn.run().then(() => {
      this.#ended(pending)
      this.#next()
    })
  }

  /** Gives turns that an earlier process left open their end, and the model what had been said in them. */
  #endUnfinished(): void {
    for (const { turn, items, end } of this.#history.unfinished()) {
      for (const item of items) {
        const { completedAt } = end
        this.#record({ t: 'item', turn, item, startedAt: completedAt, completedAt, context: wasSaid(item) })
      }
      this.#record({ t: 'context', turn, entry: INTERRUPTED })
      this.#record({ t: 'end', turn, status: 'interrupted', error: null, ...end })
    }
  }

  #drop(pending: Pending): void {
    const at = this.#pending.indexOf(pending)
    if (at >= 0) this.#pending.splice(at, 1)
    this.#taken.add(pending.turn.id)
    const turn: TurnView = { ...pending.turn.view(), status: 'interrupted', completedAt: this.#services.now() }
    this.#services.emit({ type: 'turn.completed', threadId: this.id, turn })
  }

  #setStatus(status: ThreadStatus): void {
    if (JSON.stringify(status) === JSON.stringify(this.#status)) return
    this.#status = status
    this.#services.emit({ type: 'thread.status', threadId: this.id, status })
  }

  #host(): TurnHost {
    const { now, emit, desk, prepare } = this.#services
    return {
      threadId: this.id,
      now,
      emit,
      grants: this.grants,
      settings: () => this.#settings,
      prepare: outputSchema => prepare(this, outputSchema),
      record: entry => this.#record(entry),
      journal: (turnId, item, grown) => this.#log.grow(turnId, item, grown),
      sync: () => this.sync(),
      claimItemId: wanted => this.#claimItemId(wanted),
      addUsage: (turnId, usage) => this.#addUsage(turnId, usage),
      ask: (ask: ApprovalAsk, signal: AbortSignal): Promise<Decision> => desk.ask(this.id, ask, signal),
      contextOf,
      released: failed => {
        this.#turn = null
        this.#setStatus(failed || this.#lost ? { type: 'systemError' } : { type: 'idle' })
      },
      filesChanged: (turnId, changes) => {
        this.#diff ??= new TurnDiff(diffRoot(this.#settings.cwd))
        for (const { path, before, after } of changes) this.#diff.add(path, before, after)
        emit({ type: 'turn.diff', threadId: this.id, turnId, diff: this.#diff.text() })
      },
    }
  }

  #claimItemId(wanted: string | null): string {
    const id = wanted && !this.#taken.has(wanted) && !this.#history.hasItem(wanted) ? wanted : newId()
    this.#taken.add(id)
    return id
  }

  #addUsage(turnId: string, last: Usage): ThreadUsage {
    const before = this.#history.usage?.total
    const usage: ThreadUsage = { last, total: before ? sum(before, last) : last, contextWindow: this.#window }
    this.#record({ t: 'usage', turn: turnId, usage })
    this.#payFor(turnId, last)
    return usage
  }

  #payFor(turnId: string, usage: Usage): void {
    if (this.goal?.status !== 'active') return
    const goal = this.#tellGoal(turnId, goalAfterUsage(this.goal, usage, this.#services.now()))
    if (goal.status === 'budgetLimited') this.#turn?.show(spentPrompt())
  }

  /** Tokens that fit the model of the latest request. */
  set contextWindow(window: number | null) {
    this.#window = window
  }
  #window: number | null = null

  #record(entry: Entry): void {
    const at = this.#services.now()
    if (entry.t !== 'read') this.#updatedAt = at
    this.#log.append(entry)
    this.#history.apply(entry, at)
    // A turn that goes on for ever while nothing can be saved would take all memory.
    if (this.#log.full) this.#turn?.interrupt()
  }

  #create(): Log {
    const gitInfo = readGitInfo(this.#settings.cwd)
    this.#history.gitInfo = gitInfo
    return this.#services.store.create({ ...this.#header, gitInfo, settings: this.#settings }, this.#path)
  }

  /** A disk that fails must not take the conversation with it: the turn goes on in memory and the user is told. */
  #storage(news: LogNews): void {
    const { emit } = this.#services
    const say = (message: string): void => emit({ type: 'warning', threadId: this.id, message })
    switch (news.type) {
      case 'failing':
        return say(`This conversation cannot be saved right now and is kept in memory; saving is retried: ${news.why}`)
      case 'recovered':
        return say('This conversation has been saved again; nothing of it is missing.')
      case 'lost':
        return this.#lose(`This conversation can no longer be saved by this server: ${news.why}.`)
      default:
        news satisfies never
    }
  }

  /** Two writers would ruin the log: we stop, say why, and let the thread go. */
  #lose(message: string): void {
    if (this.#lost) return
    this.#lost = true
    this.#closed = true
    const turnId = this.#turn?.id ?? this.#history.lastTurn ?? ''
    const error = { message, details: null, kind: 'other' as const, status: null }
    this.#services.emit({ type: 'error', threadId: this.id, turnId, error, willRetry: false })
    this.#setStatus({ type: 'systemError' })
    this.stop()
    this.#services.lost(this)
  }
}

/** Half a thought without its signature is of no use to any model. */
const wasSaid = (item: Item): boolean => item.type === 'agentMessage' && item.text !== ''

const sum = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cached: a.cached + b.cached,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
  total: a.total + b.total,
})
