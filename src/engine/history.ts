import type {
  GitInfo,
  Goal,
  QueuedInput,
  ReadState,
  ThreadSettings,
  ThreadUsage,
  TurnStatus,
  TurnView,
} from './events.ts'
import type { Item, UserMessage } from './items.ts'
import type { ContextEntry, Opaque } from './models/model.ts'
import { PartialItems } from './partial-items.ts'
import type { Header, LogRecord, Stored } from './store/records.ts'
import { partsOf } from './user-context.ts'

/** Characters of the first message that lists show. */
const PREVIEW_LENGTH = 1000

interface TurnEnd {
  readonly completedAt: number
  readonly durationMs: number
}

interface PastTurn {
  readonly id: string
  readonly items: Item[]
  /** When each of the items started. */
  readonly starts: number[]
  status: TurnStatus
  error: TurnView['error']
  startedAt: number | null
  completedAt: number | null
  durationMs: number | null
  /** When it was last heard of. */
  lastAt: number
  /** Entries of the context before this turn, and what had been used by then. */
  readonly contextBefore: number
  readonly usageBefore: ThreadUsage | null
}

/** Everything has been read until somebody says otherwise. */
const ALL_READ: ReadState = { firstUnread: null, revision: '0' }

/** A thread's past, folded from its records: the same code reads a log back and follows a running thread. */
export class History {
  header: Header | null = null
  settings: ThreadSettings | null = null
  name: string | null = null
  preview = ''
  usage: ThreadUsage | null = null
  /** The turn that `usage` was told with. */
  usageTurn: string | null = null
  gitInfo: GitInfo | null = null
  goal: Goal | null = null
  queue: readonly QueuedInput[] = []
  readState: ReadState = ALL_READ
  memory = true
  /** What the model is shown. */
  readonly context: ContextEntry[] = []
  readonly #turns: PastTurn[] = []
  readonly #byId = new Map<string, PastTurn>()
  readonly #itemIds = new Set<string>()
  readonly #partial = new PartialItems()
  #updatedAt = 0

  static of(records: readonly Stored[]): History {
    const history = new History()
    for (const record of records) history.apply(record, record.at)
    return history
  }

  get updatedAt(): number {
    return this.#updatedAt
  }

  /** Id of the last turn, or null. */
  get lastTurn(): string | null {
    return this.#turns.at(-1)?.id ?? null
  }

  /** Id of the turn that is the first of the last `count`, or of the first one; null when there is none. */
  turnBack(count: number): string | null {
    return this.#turns[Math.max(0, this.#turns.length - count)]?.id ?? null
  }

  /** The turn behind `id`, or null. */
  turnAfter(id: string): string | null {
    return this.#turns[this.#turns.findIndex(turn => turn.id === id) + 1]?.id ?? null
  }

  get turnCount(): number {
    return this.#turns.length
  }

  /** Something was recorded at this time that is not looked at. */
  touch(at: number): void {
    this.#updatedAt = Math.max(this.#updatedAt, at)
  }

  /** Drops what only a reader of the whole thread needs; lists keep the rest. */
  forgetTurns(): void {
    this.#turns.length = 0
    this.context.length = 0
    this.queue = []
    this.#byId.clear()
    this.#itemIds.clear()
    this.#partial.clear()
  }

  hasTurn(id: string): boolean {
    return this.#byId.has(id)
  }

  hasItem(id: string): boolean {
    return this.#itemIds.has(id) || this.#partial.has(id)
  }

  /** Turns that a process left without an end when it died, with what was open in them. */
  unfinished(): readonly { readonly turn: string; readonly items: readonly Item[]; readonly end: TurnEnd }[] {
    const open = this.#turns.filter(turn => turn.status === 'inProgress')
    return open.map(({ id, startedAt, lastAt }) => {
      const end = { completedAt: lastAt, durationMs: Math.max(0, lastAt - (startedAt ?? lastAt)) }
      return { turn: id, items: this.#partial.of(id), end }
    })
  }

  /** Turns in order. One without an end reads as interrupted, unless it is the `running` one. */
  turns(running: string | null = null): readonly TurnView[] {
    return this.#turns.map(turn => this.#view(turn, running))
  }

  turn(id: string, running: string | null = null): TurnView | undefined {
    const turn = this.#byId.get(id)
    return turn && this.#view(turn, running)
  }

  /** Takes one record into account. Records of unknown kinds and of unknown turns are passed over. */
  apply(record: LogRecord, at: number): void {
    // Reading a thread does not make it newer.
    if (record.t !== 'read') this.#updatedAt = Math.max(this.#updatedAt, at)
    switch (record.t) {
      case 'thread':
        this.header ??= record
        this.settings ??= record.settings
        this.gitInfo ??= record.gitInfo
        return
      case 'settings':
        this.settings = record.settings
        return
      case 'name':
        this.name = record.name
        return
      case 'turn':
        return this.#begin(record.turn, record.startedAt, at)
      case 'item':
        return this.#item(record, at)
      case 'part':
        return this.#part(record, at)
      case 'context':
        this.context.push(record.entry)
        return
      case 'usage':
        this.usage = record.usage
        this.usageTurn = record.turn
        return
      case 'end':
        return this.#end(record)
      case 'rollback':
        return this.#rollback(record.from)
      case 'git':
        this.gitInfo = record.gitInfo
        return
      case 'goal':
        this.goal = record.goal
        return
      case 'memory':
        this.memory = record.enabled
        return
      case 'queue':
        this.queue = record.queue
        return
      case 'read':
        this.readState = record.readState
        return
      default:
        // A later version's record: nothing we can show.
        record satisfies never
    }
  }

  #begin(id: string, startedAt: number, at: number): void {
    if (this.#byId.has(id)) return
    const turn: PastTurn = {
      id,
      items: [],
      starts: [],
      status: 'inProgress',
      error: null,
      startedAt,
      completedAt: null,
      durationMs: null,
      lastAt: at,
      contextBefore: this.context.length,
      usageBefore: this.usage,
    }
    this.#turns.push(turn)
    this.#byId.set(id, turn)
  }

  /** Drops turns and what the model was shown from their start on. Totals stay: those tokens have been used. */
  #rollback(from: string): void {
    const first = this.#turns.findIndex(turn => turn.id === from)
    const [oldest, ...others] = first < 0 ? [] : this.#turns.splice(first)
    if (!oldest) return
    for (const turn of [oldest, ...others]) {
      this.#byId.delete(turn.id)
      this.#partial.drop(turn.id)
    }
    this.context.length = Math.min(this.context.length, oldest.contextBefore)
    this.usageTurn = this.lastTurn
    if (this.usage) this.usage = { ...this.usage, last: oldest.usageBefore?.last ?? NOTHING_USED }
  }

  #item(record: Extract<LogRecord, { t: 'item' }>, at: number): void {
    const turn = this.#byId.get(record.turn)
    if (!turn || this.#itemIds.has(record.item.id)) return
    turn.lastAt = Math.max(turn.lastAt, at, record.completedAt)
    this.#itemIds.add(record.item.id)
    this.#partial.settle(record.item.id)
    // In the order in which they started, as they were seen.
    const place = turn.starts.findLastIndex(start => start <= record.startedAt) + 1
    turn.starts.splice(place, 0, record.startedAt)
    turn.items.splice(place, 0, record.item)
    if (record.item.type === 'userMessage' && this.preview === '') this.preview = previewOf(record.item)
    if (!record.context) return
    const entry = entryOf(record.item, record.opaque ?? {})
    if (entry) this.context.push(entry)
  }

  #view(turn: PastTurn, running: string | null): TurnView {
    const { id, error, startedAt, completedAt, durationMs } = turn
    const cut = turn.status === 'inProgress' && id !== running
    const items = cut ? [...turn.items, ...this.#partial.of(id)] : [...turn.items]
    return { id, status: cut ? 'interrupted' : turn.status, error, startedAt, completedAt, durationMs, items }
  }

  #part(record: Extract<LogRecord, { t: 'part' }>, at: number): void {
    const turn = this.#byId.get(record.turn)
    if (turn?.status !== 'inProgress' || this.#itemIds.has(record.item)) return
    turn.lastAt = Math.max(turn.lastAt, at)
    this.#partial.add(record)
  }

  #end(record: Extract<LogRecord, { t: 'end' }>): void {
    const turn = this.#byId.get(record.turn)
    if (turn?.status !== 'inProgress') return
    this.#partial.drop(turn.id)
    turn.status = record.status
    turn.error = record.error
    turn.completedAt = record.completedAt
    turn.durationMs = record.durationMs
  }
}

/** First words of a thread, for lists. */
function previewOf(message: UserMessage): string {
  const text = message.content.flatMap(input => (input.type === 'text' ? [input.text] : [])).join('\n')
  return text.slice(0, PREVIEW_LENGTH)
}

/** What the model is shown of an item; null for items that it learns of by other records. */
export function entryOf(item: Item, opaque: Opaque): ContextEntry | null {
  switch (item.type) {
    case 'userMessage':
      return { type: 'message', role: 'user', parts: item.content.flatMap(partsOf) }
    case 'agentMessage':
      return { type: 'text', text: item.text, id: item.id, phase: wirePhase[item.phase ?? 'none'] }
    case 'reasoning':
      return { type: 'reasoning', text: item.summary.join('\n\n'), opaque }
    default:
      return null
  }
}

const NOTHING_USED = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, total: 0 } as const

const wirePhase = { commentary: 'commentary', finalAnswer: 'final_answer', none: null } as const
