import type { CommandAction, FileChange } from './items.ts'

/** What a tool asks a person before it acts. */
export type ApprovalAsk =
  | {
      readonly type: 'command'
      readonly turnId: string
      readonly itemId: string
      readonly startedAt: number
      readonly command: string
      readonly cwd: string
      readonly reason: string | null
      readonly actions: readonly CommandAction[]
      /** Prefix a person may allow for the rest of the thread; null when none is safe to offer. */
      readonly prefix: readonly string[] | null
    }
  | {
      readonly type: 'fileChange'
      readonly turnId: string
      readonly itemId: string
      readonly startedAt: number
      readonly reason: string | null
      readonly changes: readonly FileChange[]
    }
  | {
      /** A tool that the client runs: the answer is its result. */
      readonly type: 'clientTool'
      readonly turnId: string
      readonly itemId: string
      readonly namespace: string | null
      readonly tool: string
      readonly arguments: unknown
    }

/** The superset of what both dialects let a person say. */
export type Decision =
  | { readonly type: 'accept' }
  | { readonly type: 'acceptForSession' }
  | { readonly type: 'acceptPrefix'; readonly prefix: readonly string[] }
  | { readonly type: 'decline'; readonly message: string | null }
  /** Decline and interrupt the turn. */
  | { readonly type: 'cancel' }
  | {
      readonly type: 'result'
      readonly success: boolean
      readonly content: readonly import('./items.ts').ToolContent[]
    }
