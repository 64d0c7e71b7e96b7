import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { JsonObject } from '../base/json.ts'
import type { ApprovalAsk, Decision } from './approvals.ts'
import type { Desk } from './desk.ts'
import { EngineError } from './errors.ts'
import type { EngineEvent, ThreadSettings, ThreadStatus, ThreadUsage, ThreadView, TurnView } from './events.ts'
import { History } from './history.ts'
import type { Input, UserMessage } from './items.ts'
import type { ContextEntry, Usage } from './models/model.ts'
import type { Log } from './store/log.ts'
import type { Entry, Header } from './store/records.ts'
import type { Store } from './store/store.ts'
import type { ClientTool } from './tools/client-tool-specs.ts'
import type { Grants } from './tools/tool.ts'
import { type Task, Turn, type TurnHost, type TurnWork } from './turn.ts'
import { diffRoot, TurnDiff } from './turn-diff.ts'
import { contextOf } from './user-context.ts'

/** Characters of text one turn may be given, as in codex. */
const MAX_INPUT = 1_048_576

/** What a thread needs from the engine around it. */
export interface ThreadServices {
  readonly store: Store
  readonly now: Clock
  readonly desk: Desk
  readonly emit: (event: EngineEvent) => void
  readonly prepare: (thread: Thread, outputSchema: unknown) => ReturnType<TurnHost['prepare']>
  /** Called whenever the thread may have become idle. */
  readonly rested: (thread: Thread) => void
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
  /** Set when the thread comes from a log. */
  readonly stored?: { readonly log: Log; readonly history: History; readonly path: string }
}

interface Pending {
  readonly turn: Turn
  /** Settings that hold from this turn on. */
  readonly overrides: Partial<ThreadSettings> | null
}

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
  #log: Log | null
  #settings: ThreadSettings
  #turn: Turn | null = null
  readonly #queue: Pending[] = []
  #status: ThreadStatus = { type: 'idle' }
  readonly #taken = new Set<string>()
  /** What the running turn has done to files; made with its first change. */
  #diff: TurnDiff | null = null
  #closed = false
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
    this.#log = stored?.log ?? null
    this.#settings = stored?.history.settings ?? header.settings
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
    return this.#log !== null || this.#history.turnCount > 0
  }

  get busy(): boolean {
    return this.#turn !== null || this.#queue.length > 0
  }

  get usage(): ThreadUsage | null {
    return this.#history.usage
  }

  get context(): readonly ContextEntry[] {
    return this.#history.context
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
    const turn = new Turn(this.#host(), { id: newId(), work })
    this.#queue.push({ turn, overrides })
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
    const queued = this.#queue.find(p => p.turn.id === turnId)
    if (queued) return () => this.#drop(queued)
    const turn = this.#turn
    if (turn && (turn.id === turnId || turnId === '')) return () => turn.interrupt()
    if (!turn || this.#taken.has(turnId) || this.#history.hasTurn(turnId)) return null
    const data = { expectedTurnId: turnId, activeTurnId: turn.id }
    throw new EngineError('turnMismatch', `expected active turn id ${turnId} but found ${turn.id}`, data)
  }

  /** Interrupts everything, queued turns too. Used when the thread or the server goes down. */
  stop(): void {
    for (const pending of this.#queue.splice(0)) this.#drop(pending)
    this.#turn?.interrupt()
  }

  rename(name: string | null): void {
    this.#record({ t: 'name', name })
    this.#services.emit({ type: 'thread.named', threadId: this.id, name })
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

  /** Recomputes what the thread waits on. */
  refreshStatus(): void {
    // A turn that is being stopped waits for nothing more.
    if (this.#status.type === 'active' && !this.#turn?.stopping) {
      this.#setStatus({ type: 'active', waitingOn: this.#services.desk.waitingOn(this.id) })
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#log?.close()
    this.#log = null
  }

  #message(input: TurnInput): UserMessage {
    return { type: 'userMessage', id: newId(), clientId: input.clientId, content: input.input }
  }

  /** Starts the next turn that waits, if none runs. */
  #next(): void {
    if (this.#turn) return
    const pending = this.#queue.shift()
    if (!pending) return this.#services.rested(this)
    const { turn, overrides } = pending
    this.#turn = turn
    this.#taken.add(turn.id)
    if (overrides) this.change(overrides)
    this.#diff = null
    this.#setStatus({ type: 'active', waitingOn: [] })
    void turn.run().then(() => this.#next())
  }

  #drop(pending: Pending): void {
    const at = this.#queue.indexOf(pending)
    if (at >= 0) this.#queue.splice(at, 1)
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
      sync: () => this.#sync(),
      claimItemId: wanted => this.#claimItemId(wanted),
      addUsage: (turnId, usage) => this.#addUsage(turnId, usage),
      ask: (ask: ApprovalAsk, signal: AbortSignal): Promise<Decision> => desk.ask(this.id, ask, signal),
      contextOf,
      released: failed => {
        this.#turn = null
        this.#setStatus(failed ? { type: 'systemError' } : { type: 'idle' })
      },
      fileChanged: (turnId, { path, before, after }) => {
        this.#diff ??= new TurnDiff(diffRoot(this.#settings.cwd))
        this.#diff.add(path, before, after)
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
    return usage
  }

  /** Tokens that fit the model of the latest request. */
  set contextWindow(window: number | null) {
    this.#window = window
  }
  #window: number | null = null

  #record(entry: Entry): void {
    const at = this.#services.now()
    this.#updatedAt = at
    if (!this.ephemeral) this.#write(entry)
    this.#history.apply(entry, at)
  }

  /** A disk that fails must not take the conversation with it: the turn goes on in memory and the user is told. */
  #write(entry: Entry): void {
    try {
      this.#log ??= this.#services.store.create({ ...this.#header, settings: this.#settings }, this.#path)
      this.#log.append(entry)
    } catch (error) {
      this.#storageFailed(error)
    }
  }

  async #sync(): Promise<void> {
    try {
      await this.#log?.sync()
    } catch (error) {
      this.#storageFailed(error)
    }
  }

  #storageFailed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.warnOnce(`This conversation could not be saved and is kept in memory only: ${why}`)
  }
}

/** A thread as lists show it, from its history and what holds right now. */
export function viewOf(
  history: History,
  header: Header,
  now: {
    readonly status: ThreadStatus
    readonly path: string | null
    readonly ephemeral: boolean
    readonly settings: ThreadSettings
    readonly updatedAt: number
  },
): ThreadView {
  const { settings } = now
  return {
    id: header.id,
    sessionId: header.sessionId,
    forkedFrom: header.forkedFrom,
    preview: history.preview,
    name: history.name,
    ephemeral: now.ephemeral,
    provider: settings.provider,
    model: settings.model,
    effort: settings.effort,
    createdAt: header.createdAt,
    updatedAt: now.updatedAt,
    recencyAt: now.updatedAt,
    status: now.status,
    path: now.path,
    cwd: settings.cwd,
    cliVersion: header.cliVersion,
    originator: header.originator,
    source: header.source,
    threadSource: header.threadSource,
    gitInfo: header.gitInfo,
  }
}

function checkLength(input: readonly Input[]): void {
  const texts = input.flatMap(part => (part.type === 'text' ? [part.text] : []))
  // A character beyond the basic plane is two units of a string: worth counting only near the limit.
  if (texts.reduce((n, text) => n + text.length, 0) <= MAX_INPUT) return
  const length = texts.reduce(
    (n, text) => n + text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0),
    0,
  )
  if (length <= MAX_INPUT) return
  throw new EngineError('inputTooLarge', `Input exceeds the maximum length of ${MAX_INPUT} characters.`, {
    input_error_code: 'input_too_large',
    max_chars: MAX_INPUT,
    actual_chars: length,
  })
}

const sum = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cached: a.cached + b.cached,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
  reasoning: a.reasoning + b.reasoning,
  total: a.total + b.total,
})
