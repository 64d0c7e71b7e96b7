/**
 * What a thread is made of. An item has an id that stays the same live and in history, starts, may grow by deltas,
 * and completes. Dialects rename items; they never compute them.
 */
export type Item =
  | UserMessage
  | AgentMessage
  | Reasoning
  | PlanItem
  | CommandItem
  | FileChangeItem
  | ClientToolItem
  | CompactionItem

/** One piece of what a person (or a client) put in. */
export type Input =
  | { readonly type: 'text'; readonly text: string; readonly elements: readonly TextElement[] }
  | { readonly type: 'image'; readonly url: string; readonly detail?: string }
  | { readonly type: 'localImage'; readonly path: string; readonly detail?: string }
  | { readonly type: 'skill'; readonly name: string; readonly path: string }
  | { readonly type: 'mention'; readonly name: string; readonly path: string }

/** A span of a text input that a client shows as one thing (a file chip, say). Byte offsets into its UTF-8. */
export interface TextElement {
  readonly start: number
  readonly end: number
  readonly placeholder: string | null
}

export interface UserMessage {
  readonly type: 'userMessage'
  readonly id: string
  /** The id the client gave this message, echoed so that it can match its own draft. */
  readonly clientId: string | null
  readonly content: readonly Input[]
}

export interface AgentMessage {
  readonly type: 'agentMessage'
  readonly id: string
  readonly text: string
  readonly phase: 'commentary' | 'finalAnswer' | null
}

export interface Reasoning {
  readonly type: 'reasoning'
  readonly id: string
  /** Summary parts a person may read. */
  readonly summary: readonly string[]
  /** Raw chain of thought, where a model gives it. */
  readonly content: readonly string[]
}

/** A plan proposed in plan mode. (The checklist of `update_plan` is an event, not an item.) */
export interface PlanItem {
  readonly type: 'plan'
  readonly id: string
  readonly text: string
}

export type CommandAction =
  | { readonly type: 'read'; readonly command: string; readonly name: string; readonly path: string }
  | { readonly type: 'list'; readonly command: string; readonly path: string | null }
  | { readonly type: 'search'; readonly command: string; readonly query: string | null; readonly path: string | null }
  | { readonly type: 'unknown'; readonly command: string }

export interface CommandItem {
  readonly type: 'command'
  readonly id: string
  /** The whole command line as shown to a person, e.g. `/bin/bash -lc 'echo hi'`. */
  readonly command: string
  readonly cwd: string
  readonly processId: string | null
  readonly source: 'agent' | 'userShell' | 'sessionStartup' | 'sessionInteraction'
  readonly status: 'inProgress' | 'completed' | 'failed' | 'declined'
  readonly actions: readonly CommandAction[]
  /** Standard output and error together, capped; null while it runs and when there was none. */
  readonly output: string | null
  readonly exitCode: number | null
  readonly durationMs: number | null
}

export interface FileChange {
  readonly path: string
  readonly kind: 'add' | 'delete' | 'update'
  /** Where an updated file goes, when the patch moves it. */
  readonly movePath: string | null
  /** For `update` a unified diff; for `add` and `delete` the file's content. */
  readonly diff: string
}

export interface FileChangeItem {
  readonly type: 'fileChange'
  readonly id: string
  readonly changes: readonly FileChange[]
  readonly status: 'inProgress' | 'completed' | 'failed' | 'declined'
}

/** A call of a tool that the client runs (codex: dynamic tool). */
export interface ClientToolItem {
  readonly type: 'clientTool'
  readonly id: string
  readonly namespace: string | null
  readonly tool: string
  readonly arguments: unknown
  readonly status: 'inProgress' | 'completed' | 'failed'
  readonly content: readonly ToolContent[] | null
  readonly success: boolean | null
  readonly durationMs: number | null
}

export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string }

export interface CompactionItem {
  readonly type: 'compaction'
  readonly id: string
}

/** Which growing part of an item a delta belongs to. */
export type DeltaPart =
  | { readonly type: 'text' }
  | { readonly type: 'plan' }
  | { readonly type: 'summary'; readonly index: number }
  | { readonly type: 'reasoning'; readonly index: number }
  | { readonly type: 'output' }
