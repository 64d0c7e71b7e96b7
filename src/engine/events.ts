import type { ApprovalAsk } from './approvals.ts'
import type { DeltaPart, Input, Item } from './items.ts'
import type { Usage } from './models/model.ts'
import type { ConfigWarning } from './settings/warnings.ts'

/** Everything that happens in the engine, in program order. Dialects project it; nothing computes on the way. */
export type EngineEvent =
  | { readonly type: 'thread.started'; readonly threadId: string; readonly thread: ThreadView }
  | { readonly type: 'thread.status'; readonly threadId: string; readonly status: ThreadStatus }
  | { readonly type: 'thread.closed'; readonly threadId: string }
  | { readonly type: 'thread.named'; readonly threadId: string; readonly name: string | null }
  | { readonly type: 'thread.archived'; readonly threadId: string }
  | { readonly type: 'thread.unarchived'; readonly threadId: string }
  | { readonly type: 'thread.deleted'; readonly threadId: string }
  /** Turns have been taken back. */
  | { readonly type: 'thread.reverted'; readonly threadId: string }
  /** `goal` null: there is none any more. `turnId`: the turn that changed it. */
  | {
      readonly type: 'thread.goal'
      readonly threadId: string
      readonly turnId: string | null
      readonly goal: Goal | null
    }
  | { readonly type: 'thread.queue'; readonly threadId: string }
  | { readonly type: 'thread.read'; readonly threadId: string; readonly readState: ReadState }
  | { readonly type: 'thread.settings'; readonly threadId: string; readonly settings: ThreadSettings }
  | { readonly type: 'turn.started'; readonly threadId: string; readonly turn: TurnView }
  | { readonly type: 'turn.completed'; readonly threadId: string; readonly turn: TurnView }
  | {
      readonly type: 'turn.plan'
      readonly threadId: string
      readonly turnId: string
      readonly explanation: string | null
      readonly plan: readonly PlanStep[]
    }
  | { readonly type: 'turn.diff'; readonly threadId: string; readonly turnId: string; readonly diff: string }
  | ItemEvent
  | ItemDelta
  | { readonly type: 'usage'; readonly threadId: string; readonly turnId: string; readonly usage: ThreadUsage }
  | {
      readonly type: 'error'
      readonly threadId: string
      readonly turnId: string
      readonly error: TurnError
      readonly willRetry: boolean
    }
  | { readonly type: 'warning'; readonly threadId: string | null; readonly message: string }
  | { readonly type: 'config.warning'; readonly warning: ConfigWarning }
  | {
      readonly type: 'approval.requested'
      readonly threadId: string
      readonly approvalId: string
      readonly ask: ApprovalAsk
    }
  | {
      readonly type: 'approval.resolved'
      readonly threadId: string
      readonly approvalId: string
      readonly kind: ApprovalAsk['type']
    }

export interface ItemEvent {
  readonly type: 'item.started' | 'item.completed'
  readonly threadId: string
  readonly turnId: string
  readonly item: Item
  /** Place of the item in its turn, from 0. */
  readonly index: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

export interface ItemDelta {
  readonly type: 'item.delta'
  readonly threadId: string
  readonly turnId: string
  readonly itemId: string
  readonly index: number
  readonly part: DeltaPart
  /** New text; the first delta of a summary part may be empty: it opens the part. */
  readonly delta: string
}

export interface PlanStep {
  readonly step: string
  readonly status: 'pending' | 'inProgress' | 'completed'
}

export type ThreadStatus =
  | { readonly type: 'notLoaded' }
  | { readonly type: 'idle' }
  | { readonly type: 'active'; readonly waitingOn: readonly ('approval' | 'userInput')[] }
  | { readonly type: 'systemError' }

export type ApprovalPolicy = 'untrusted' | 'on-request' | 'never'

export type SandboxPolicy =
  | { readonly type: 'dangerFullAccess' }
  | { readonly type: 'readOnly'; readonly networkAccess: boolean }
  | {
      readonly type: 'workspaceWrite'
      readonly writableRoots: readonly string[]
      readonly networkAccess: boolean
      readonly excludeTmpdirEnvVar: boolean
      readonly excludeSlashTmp: boolean
    }

/** What holds for a thread's next turn. */
export interface ThreadSettings {
  readonly model: string
  readonly provider: string
  readonly cwd: string
  readonly workspaceRoots: readonly string[]
  readonly approvalPolicy: ApprovalPolicy
  readonly sandbox: SandboxPolicy
  /** Named permission profile that set the sandbox, e.g. `:read-only`. */
  readonly permissionProfile: string | null
  readonly effort: string | null
  readonly summary: string | null
  readonly serviceTier: string | null
  readonly personality: string | null
  readonly mode: 'default' | 'plan'
  readonly modeInstructions: string | null
  readonly baseInstructions: string | null
  readonly developerInstructions: string | null
}

/** A thread as lists and answers show it: a value, safe to keep. Times in milliseconds. */
export interface ThreadView {
  readonly id: string
  readonly sessionId: string
  readonly forkedFrom: string | null
  readonly preview: string
  readonly name: string | null
  readonly ephemeral: boolean
  readonly provider: string
  readonly model: string | null
  readonly effort: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly recencyAt: number
  readonly status: ThreadStatus
  readonly path: string | null
  readonly cwd: string
  readonly cliVersion: string
  readonly originator: string | null
  readonly source: string
  readonly threadSource: string | null
  readonly gitInfo: GitInfo | null
  readonly readState: ReadState
}

export interface GitInfo {
  readonly sha: string | null
  readonly branch: string | null
  readonly originUrl: string | null
}

/** What a thread works towards by itself. Times in milliseconds. */
export interface Goal {
  readonly objective: string
  readonly status: GoalStatus
  /** Tokens it may cost; null = any number. */
  readonly tokenBudget: number | null
  /** Tokens it has cost: input that was not cached, and output. */
  readonly tokensUsed: number
  readonly timeUsedMs: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Only an `active` goal starts turns. */
export type GoalStatus = 'active' | 'paused' | 'blocked' | 'usageLimited' | 'budgetLimited' | 'complete'

/** Input that waits for a turn of its own. */
export interface QueuedInput {
  readonly id: string
  /** The id the client gave the message. */
  readonly clientId: string
  readonly input: readonly Input[]
  readonly metadata: { readonly [key: string]: string } | null
}

/** What of a thread a person has not read yet, as their clients tell us. */
export interface ReadState {
  /** Null: everything has been read. */
  readonly firstUnread: { readonly type: 'threadStart' } | { readonly type: 'turn'; readonly turnId: string } | null
  /** Another one after every change. */
  readonly revision: string
}

export type TurnStatus = 'inProgress' | 'completed' | 'interrupted' | 'failed'

export interface TurnView {
  readonly id: string
  readonly status: TurnStatus
  readonly error: TurnError | null
  readonly startedAt: number | null
  readonly completedAt: number | null
  readonly durationMs: number | null
  /** Empty in events; filled in history. */
  readonly items: readonly Item[]
}

/** Why a turn failed, in words of our own; dialects map `kind` to theirs. */
export interface TurnError {
  readonly message: string
  readonly details: string | null
  readonly kind: TurnErrorKind
  /** HTTP status, where one was seen. */
  readonly status: number | null
}

export type TurnErrorKind =
  | 'contextWindowExceeded'
  | 'usageLimitExceeded'
  | 'serverOverloaded'
  | 'connectionFailed'
  | 'streamDisconnected'
  | 'tooManyAttempts'
  | 'internalServerError'
  | 'unauthorized'
  | 'badRequest'
  | 'sandbox'
  | 'notSteerable'
  | 'other'

export interface ThreadUsage {
  readonly total: Usage
  readonly last: Usage
  readonly contextWindow: number | null
}
