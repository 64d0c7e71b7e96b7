import type { Decision } from '../engine/approvals.ts'
import type { EngineEvent } from '../engine/events.ts'
import type { Calls } from '../rpc/calls.ts'
import type { Announcement, CallIds, Dialect, Outgoing, Question } from './dialect.ts'
import type { Session } from './session.ts'

/** Terminal events kept per thread while nobody listens. */
const MAX_KEPT = 100
/** Threads of which such events are kept; beyond, those of the thread that has waited longest are forgotten: its history has them. */
const MAX_KEPT_THREADS = 10_000

export interface HubOptions {
  readonly calls: Calls<Session>
  /** Tells the engine whether anybody follows a thread: open approvals wait only so long for somebody to come back. */
  readonly attendance: (threadId: string, attended: boolean) => void
  /** Hands a person's answer to the engine. */
  readonly answer: (approvalId: string, decision: Decision) => void
}

interface OpenQuestion {
  readonly event: Extract<EngineEvent, { type: 'approval.requested' }>
  /** One server request per dialect that has been asked. */
  readonly asked: Map<Dialect, number>
}

/** Carries engine events to the connections that should hear them. Knows who follows which thread; the engine does not. */
export class Hub {
  readonly #options: HubOptions
  readonly #sessions = new Set<Session>()
  /** Dialects that somebody speaks right now. */
  #dialects: readonly Dialect[] = []
  readonly #followers = new Map<string, Set<Session>>()
  readonly #kept = new Map<string, Terminal[]>()
  readonly #open = new Map<string, OpenQuestion>()

  constructor(options: HubOptions) {
    this.#options = options
  }

  /** Adds a connection that has finished its handshake. */
  join(session: Session): void {
    this.#sessions.add(session)
    this.#listDialects()
  }

  /** Forgets a connection that is gone. */
  leave(session: Session): void {
    this.#sessions.delete(session)
    this.#listDialects()
    this.#options.calls.drop(session)
    for (const threadId of [...this.#followers.keys()]) this.unfollow(threadId, session)
  }

  isFollowing(threadId: string, session: Session): boolean {
    return this.#followers.get(threadId)?.has(session) ?? false
  }

  hasFollowers(threadId: string): boolean {
    return this.#followers.has(threadId)
  }

  /** Joins only; what was missed is handed over by `catchUp`. */
  follow(threadId: string, session: Session): void {
    if (session.closed) return
    const set = this.#followers.get(threadId)
    if (set) set.add(session)
    else {
      this.#followers.set(threadId, new Set([session]))
      this.#options.attendance(threadId, true)
    }
  }

  /** True when the connection did follow the thread. */
  unfollow(threadId: string, session: Session): boolean {
    const set = this.#followers.get(threadId)
    if (!set?.delete(session)) return false
    if (set.size === 0) {
      this.#followers.delete(threadId)
      this.#options.attendance(threadId, false)
    }
    return true
  }

  /**
   * Gives a new follower what it has not seen: terminal events that nobody heard (unless `shown` says that the response
   * it just got has that turn already), then the questions that still wait for an answer.
   */
  catchUp(threadId: string, session: Session, shown: (turnId: string) => boolean): void {
    const kept = this.#kept.get(threadId) ?? []
    this.#kept.delete(threadId)
    for (const event of kept) {
      const out = this.#project(event, session.dialect)
      // A client that does not want to hear of it leaves it to the next one.
      if (out?.kind !== 'announcement' || !session.wants(out.frame.method)) this.#keep(event)
      else if (out.terminal && !shown(out.terminal.turnId)) this.#announce(out, [session])
    }
    for (const [approvalId, { event, asked }] of this.#open) {
      if (event.threadId !== threadId) continue
      const id = asked.get(session.dialect)
      if (id !== undefined) this.#options.calls.resend(id, session)
      else {
        const out = this.#project(event, session.dialect)
        if (out?.kind === 'question') this.#ask(approvalId, out, [session])
      }
    }
  }

  /** Sends one notification of a dialect's own making to a single connection. */
  tell(session: Session, event: EngineEvent): void {
    const out = this.#project(event, session.dialect)
    if (out?.kind === 'announcement') this.#announce(out, [session])
  }

  /** The road out: called by the engine for every event, synchronously. */
  publish(event: EngineEvent): void {
    if (event.type === 'approval.requested') this.#open.set(event.approvalId, { event, asked: new Map() })
    for (const dialect of this.#dialects) this.#deliver(event, dialect)
    if (event.type === 'approval.resolved') this.#close(event.approvalId)
    if (isFarewell(event)) this.#leaveThread(event)
    if (isTerminal(event) && !this.#isHeard(event)) this.#keep(event)
  }

  /** A thread that is gone from memory has no followers: who opens it again follows it anew. */
  #leaveThread({ type, threadId }: Farewell): void {
    if (type === 'thread.deleted') this.#kept.delete(threadId)
    if (this.#followers.delete(threadId)) this.#options.attendance(threadId, false)
  }

  #deliver(event: EngineEvent, dialect: Dialect): void {
    const out = this.#project(event, dialect)
    if (!out) return
    const followers = 'threadId' in event && event.threadId ? this.#followers.get(event.threadId) : undefined
    if (out.kind === 'question') {
      const peers = [...(followers ?? [])].filter(s => s.dialect === dialect)
      if (peers.length > 0 && event.type === 'approval.requested') this.#ask(event.approvalId, out, peers)
    } else this.#announce(out, out.audience === 'everyone' ? this.#sessions : (followers ?? []), dialect)
  }

  #announce(out: Announcement, sessions: Iterable<Session>, dialect?: Dialect): void {
    for (const session of sessions) {
      if (dialect && session.dialect !== dialect) continue
      if (out.experimental && !session.experimental) continue
      session.post(out.frame)
    }
  }

  #ask(approvalId: string, question: Question, peers: readonly Session[]): void {
    const [first] = peers
    if (!first) return
    const { method, params } = question
    const { id } = this.#options.calls.ask({
      method,
      params,
      peers,
      settled: reply => this.#options.answer(approvalId, question.decode(reply)),
    })
    this.#open.get(approvalId)?.asked.set(first.dialect, id)
  }

  #close(approvalId: string): void {
    for (const id of this.#open.get(approvalId)?.asked.values() ?? []) this.#options.calls.cancel(id)
    this.#open.delete(approvalId)
  }

  /** Whether a follower of the thread is told of this event. */
  #isHeard(event: Terminal): boolean {
    for (const session of this.#followers.get(event.threadId) ?? []) {
      const out = this.#project(event, session.dialect)
      if (out?.kind === 'announcement' && session.wants(out.frame.method)) return true
    }
    return false
  }

  #keep(event: Terminal): void {
    const kept = this.#kept.get(event.threadId) ?? []
    kept.push(event)
    if (kept.length > MAX_KEPT) kept.shift()
    this.#kept.set(event.threadId, kept)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MAX_KEPT_THREADS && oldest !== undefined) this.#kept.delete(oldest)
  }

  #project(event: EngineEvent, dialect: Dialect): Outgoing | undefined {
    const ids: CallIds = { callId: approvalId => this.#open.get(approvalId)?.asked.get(dialect) }
    return dialect.project(event, ids)
  }

  #listDialects(): void {
    this.#dialects = [...new Set([...this.#sessions].map(session => session.dialect))]
  }
}

type Farewell = Extract<EngineEvent, { type: 'thread.closed' | 'thread.archived' | 'thread.deleted' }>

function isFarewell(event: EngineEvent): event is Farewell {
  return event.type === 'thread.closed' || event.type === 'thread.archived' || event.type === 'thread.deleted'
}

type Terminal = Extract<EngineEvent, { type: 'turn.completed' | 'error' }>

function isTerminal(event: EngineEvent): event is Terminal {
  return event.type === 'turn.completed' || (event.type === 'error' && !event.willRetry)
}
