import { INTERNAL_ERROR, RpcError } from '../rpc/error.ts'
import type { Frame } from '../rpc/frame.ts'
import type { Lanes } from '../rpc/lanes.ts'
import { errorFrame, responseFrame } from '../rpc/message.ts'
import type { Answer } from '../rpc/methods.ts'
import type { Admitted } from './dialect.ts'
import type { Request, Session } from './session.ts'

/**
 * Admits the requests of one connection in arrival order. Only one whose admission waits for something to load holds up
 * the ones behind it.
 */
export class Dispatch {
  readonly #session: Session
  readonly #lanes: Lanes
  readonly #waiting: Request[] = []
  #loading = false

  constructor(session: Session, lanes: Lanes) {
    this.#session = session
    this.#lanes = lanes
  }

  push(request: Request): void {
    this.#waiting.push(request)
    this.#pump()
  }

  #pump(): void {
    while (!this.#loading) {
      const request = this.#waiting.shift()
      if (!request) return
      const admitted = this.#admit(request)
      if (admitted instanceof Promise) this.#hold(request, admitted)
      else if (admitted) this.#run(request, admitted)
    }
  }

  #admit(request: Request): Admitted | Promise<Admitted> | undefined {
    try {
      return this.#session.dialect.admit(request, this.#session)
    } catch (error) {
      this.#refuse(request, error)
      return undefined
    }
  }

  #hold(request: Request, admitted: Promise<Admitted>): void {
    this.#loading = true
    const go = (step: () => void): void => {
      this.#loading = false
      step()
      this.#pump()
    }
    admitted.then(
      row => go(() => this.#run(request, row)),
      error => go(() => this.#refuse(request, error)),
    )
  }

  #run(request: Request, admitted: Admitted): void {
    if (admitted.lane === null) void answer(this.#session, request, admitted)
    else void this.#lanes.run(admitted.lane, () => answer(this.#session, request, admitted))
  }

  #refuse(request: Request, error: unknown): void {
    this.#session.post(failureFrame(this.#session, request, error))
    this.#session.settled()
  }
}

/** Answers one request. From the moment the result is made to the last `afterReply` step nothing else runs. */
async function answer(session: Session, request: Request, admitted: Admitted): Promise<void> {
  // A request that waited in its lane while its connection went away is not started any more.
  if (session.closed) return session.settled()
  const after: (() => void)[] = []
  let reply: Frame
  try {
    const pending = admitted.handle({ session, afterReply: step => void after.push(step) })
    const made: Answer<unknown> = pending instanceof Promise ? await pending : pending
    reply = responseFrame(request.id, typeof made === 'function' ? (made as () => unknown)() : made)
    // Encoding here turns a result that JSON cannot carry into an error of this request instead of a lost answer.
    void reply.bytes
  } catch (error) {
    after.length = 0
    reply = failureFrame(session, request, error)
  }
  session.post(reply)
  session.settled()
  for (const step of after) step()
}

function failureFrame(session: Session, request: Request, error: unknown): Frame {
  let shown: RpcError
  try {
    shown = error instanceof RpcError ? error : session.dialect.failure(error)
  } catch {
    shown = new RpcError(INTERNAL_ERROR, 'internal error')
  }
  const { code, message, data } = shown
  return errorFrame(request.id, data === undefined ? { code, message } : { code, message, data })
}
