import type { Decision } from '../engine/approvals.ts'
import type { EngineEvent } from '../engine/events.ts'
import type { Reply } from '../rpc/calls.ts'
import type { RpcError } from '../rpc/error.ts'
import type { Frame } from '../rpc/frame.ts'
import type { Answer } from '../rpc/methods.ts'
import type { Session } from './session.ts'

/**
 * One way of speaking to the engine: names, shapes, numbers. The server layer moves requests in and events out and knows
 * nothing else about it.
 */
export interface Dialect {
  readonly name: string
  /**
   * Finds, validates and gates one request. Throws an `RpcError`, or whatever `failure` maps, to refuse. A promise means
   * that something is still being loaded: later requests of that connection wait behind it, in order.
   */
  admit(request: { readonly method: string; readonly params: unknown }, session: Session): Admitted | Promise<Admitted>
  /** A client notification; unknown ones are ignored. */
  notice(method: string, params: unknown, session: Session): void
  /** Renames one event: pure, no state. Undefined: this dialect has nothing to say of it. */
  project(event: EngineEvent, calls: CallIds): Outgoing | undefined
  /** What a peer sees of anything thrown on the way to its answer. */
  failure(error: unknown): RpcError
  /** A notification for the peer whose message was dropped for its size; null where the dialect has none. */
  oversized(bytes: number): Frame | null
}

/** An admitted request, ready to run in its lane. */
export interface Admitted {
  /** Requests with equal lanes run one at a time, in arrival order; null runs at once. */
  readonly lane: string | null
  handle(cx: Call): Answer<unknown> | Promise<Answer<unknown>>
}

/** What a row may use beside the engine. */
export interface Call {
  readonly session: Session
  /** Runs right behind the reply, in the same synchronous step; not at all when the request fails. */
  afterReply(step: () => void): void
}

/** Ids of the server requests that stand for open approvals. */
export interface CallIds {
  callId(approvalId: string): number | undefined
}

export type Outgoing = Announcement | Question

/** A notification. */
export interface Announcement {
  readonly kind: 'announcement'
  readonly frame: Frame
  readonly audience: 'everyone' | 'followers'
  /** Only for connections that asked for experimental methods. */
  readonly experimental: boolean
  /** Set on an event that ends a turn: the hub keeps it for the next follower when nobody listens. */
  readonly terminal: { readonly turnId: string } | null
}

/** A request to the followers of a thread; the first valid answer wins. */
export interface Question {
  readonly kind: 'question'
  readonly method: string
  readonly params: unknown
  /** Reads an answer. Anything that was not offered is a decline; it never throws. */
  decode(reply: Reply): Decision
}
