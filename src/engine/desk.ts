import { newId } from '../base/ids.ts'
import type { ApprovalAsk, Decision } from './approvals.ts'
import type { EngineEvent } from './events.ts'

interface Open {
  readonly threadId: string
  readonly ask: ApprovalAsk
  readonly settle: (decision: Decision) => void
  timer: NodeJS.Timeout | null
}

export interface DeskOptions {
  readonly emit: (event: EngineEvent) => void
  /** Tells the thread that what it waits on has changed, so that its status says so. */
  readonly changed: (threadId: string) => void
  /** Milliseconds a question waits for a subscriber to come back before it is declined; 0 = not at all. */
  readonly unattendedMs: () => number
}

/** Where tools ask and people answer. A question is answered exactly once: by a person, by its turn's end, or by nobody being there. */
export class Desk {
  readonly #options: DeskOptions
  readonly #open = new Map<string, Open>()
  readonly #attended = new Set<string>()

  constructor(options: DeskOptions) {
    this.#options = options
  }

  /** Resolves with the decision; `cancel` when `signal` aborts first. */
  ask(threadId: string, ask: ApprovalAsk, signal: AbortSignal): Promise<Decision> {
    if (signal.aborted) return Promise.resolve({ type: 'cancel' })
    const approvalId = newId()
    return new Promise(resolve => {
      const onAbort = (): void => this.answer(approvalId, { type: 'cancel' })
      signal.addEventListener('abort', onAbort, { once: true })
      const settle = (decision: Decision): void => {
        signal.removeEventListener('abort', onAbort)
        resolve(decision)
      }
      this.#open.set(approvalId, { threadId, ask, settle, timer: null })
      if (ask.type !== 'clientTool') this.#options.changed(threadId)
      this.#options.emit({ type: 'approval.requested', threadId, approvalId, ask })
      if (!this.#attended.has(threadId)) this.#startTimer(approvalId)
    })
  }

  /** Settles a question. A late or second answer does nothing. */
  answer(approvalId: string, decision: Decision): void {
    const open = this.#open.get(approvalId)
    if (!open) return
    this.#open.delete(approvalId)
    if (open.timer) clearTimeout(open.timer)
    this.#options.emit({ type: 'approval.resolved', threadId: open.threadId, approvalId, kind: open.ask.type })
    if (open.ask.type !== 'clientTool') this.#options.changed(open.threadId)
    open.settle(decision)
  }

  /** Says whether anybody can see this thread's questions now. */
  attend(threadId: string, attended: boolean): void {
    if (attended) this.#attended.add(threadId)
    else this.#attended.delete(threadId)
    for (const [id, open] of this.#open) {
      if (open.threadId !== threadId) continue
      if (!attended) this.#startTimer(id)
      else if (open.timer) {
        clearTimeout(open.timer)
        open.timer = null
      }
    }
  }

  /** What a thread waits on now, for its status. */
  waitingOn(threadId: string): readonly ('approval' | 'userInput')[] {
    for (const open of this.#open.values()) {
      if (open.threadId === threadId && open.ask.type !== 'clientTool') return ['approval']
    }
    return []
  }

  #startTimer(approvalId: string): void {
    const open = this.#open.get(approvalId)
    if (!open || open.timer) return
    const decline = (): void =>
      this.answer(approvalId, { type: 'decline', message: 'No client is connected to answer this request.' })
    open.timer = setTimeout(decline, this.#options.unattendedMs())
  }
}
