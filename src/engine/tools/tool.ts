import type { ApprovalAsk, Decision } from '../approvals.ts'
import type { PlanStep, ThreadSettings } from '../events.ts'
import type { DeltaPart, Item } from '../items.ts'
import type { Part, ToolSpec } from '../models/model.ts'

/** A tool the model may call. It does all its talking through `cx` and returns what the model is told. */
export interface Tool {
  readonly spec: ToolSpec
  /** Runs one call. Resolves even when the call failed: a failure is a result. Rejects only on a bug. */
  run(call: ToolCall, cx: ToolContext): Promise<ToolResult>
}

export interface ToolCall {
  /** The provider's call id; also the item's id. */
  readonly id: string
  readonly name: string
  readonly namespace: string | null
  /** Raw text as the model wrote it. */
  readonly args: string
  readonly freeform: boolean
}

export interface ToolResult {
  readonly parts: readonly Part[]
  readonly isError: boolean
}

/** What a running call may do to its turn. Everything here is synchronous except `ask`. */
export interface ToolContext {
  readonly threadId: string
  readonly turnId: string
  readonly settings: ThreadSettings
  /** Aborted when the turn is interrupted; a tool must then stop within a moment and leave nothing running. */
  readonly signal: AbortSignal
  readonly now: () => number
  /** Opens an item; it must be completed by `completeItem` before `run` resolves. */
  startItem(item: Item): void
  delta(itemId: string, part: DeltaPart, delta: string): void
  completeItem(item: Item): void
  plan(explanation: string | null, plan: readonly PlanStep[]): void
  /** Says that files changed; the turn publishes the turn's whole diff. `before`/`after` null = absent. */
  fileChanged(path: string, before: Buffer | null, after: Buffer | null): void
  /** Asks a person; resolves with `cancel` when the turn is interrupted while it waits. */
  ask(ask: ApprovalAsk): Promise<Decision>
  warn(message: string): void
  /** What this thread has been allowed so far. */
  readonly grants: Grants
}

/** Grants of one loaded thread; gone when it unloads. Keys are exact: nothing here is a pattern. */
export interface Grants {
  /** Keys accepted "for this session": one exact command line with its cwd, or one file path. */
  readonly exact: Set<string>
  /** Command prefixes a person accepted, each a list of words. */
  readonly prefixes: (readonly string[])[]
}
