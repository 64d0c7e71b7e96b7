import type { Frame } from './frame.ts'
import type { Incoming, RawId } from './message.ts'
import { requestFrame } from './message.ts'

/** Whom a request can be sent to: an outbox, a connection. */
export interface Recipient {
  post(frame: Frame): void
}

/** What came back: a result, or the error the peer answered with. Whether it is any good is for the asker to say. */
export type Reply = Extract<Incoming, { kind: 'result' | 'failure' }>

/** One request of ours, put to everybody in `peers`. */
export interface Call<P extends Recipient> {
  readonly method: string
  readonly params: unknown
  readonly peers: Iterable<P>
  /** Called at most once, with the first reply. `peer` is who gave it. */
  settled(reply: Reply, peer: P): void
}

interface Open<P extends Recipient> {
  readonly frame: Frame
  readonly sentTo: Set<P>
  readonly settled: Call<P>['settled']
}

/** Counts 0, 1, 2 ...: ids that never come twice in a process, however many connections there are. */
export function countUp(): () => number {
  let next = 0
  return () => next++
}

/**
 * Our requests to clients and who may answer them. A reply counts only from a peer that was sent the request; the first one
 * settles it, whatever it says. How long to wait is for the asker, who can `cancel`.
 */
export class Calls<P extends Recipient> {
  readonly #open = new Map<RawId, Open<P>>()
  readonly #nextId: () => number

  /** `nextId` is shared by all `Calls` of a process. */
  constructor(nextId: () => number) {
    this.#nextId = nextId
  }

  /** Sends one frame with one id to all peers; with no peers it stays open for `resend`. */
  ask({ method, params, peers, settled }: Call<P>): { readonly id: number; readonly frame: Frame } {
    const id = this.#nextId()
    const call: Open<P> = { frame: requestFrame(id, method, params), sentTo: new Set(), settled }
    this.#open.set(String(id), call)
    for (const peer of peers) send(call, peer)
    return { id, frame: call.frame }
  }

  /** Puts an open request to one more peer, or again to one that has it. False if it is no longer open. */
  resend(id: number, peer: P): boolean {
    const call = this.#open.get(String(id))
    if (call) send(call, peer)
    return call !== undefined
  }

  /** Takes what a peer answered. False where it answers nothing of ours: unknown, late, or never put to this peer. */
  reply(peer: P, reply: Reply): boolean {
    const call = this.#open.get(reply.id)
    if (!call?.sentTo.has(peer)) return false
    this.#open.delete(reply.id)
    call.settled(reply, peer)
    return true
  }

  /** Closes a request unanswered; later replies count for nothing. False if it was not open. */
  cancel(id: number): boolean {
    return this.#open.delete(String(id))
  }

  /** Forgets a peer that has gone. Gives the ids of open requests that nobody is left to answer. */
  drop(peer: P): readonly number[] {
    const unheard: number[] = []
    for (const [id, { sentTo }] of this.#open) {
      if (sentTo.delete(peer) && sentTo.size === 0) unheard.push(Number(id))
    }
    return unheard
  }

  /** Number of open requests. */
  get size(): number {
    return this.#open.size
  }
}

function send<P extends Recipient>(call: Open<P>, peer: P): void {
  call.sentTo.add(peer)
  peer.post(call.frame)
}
