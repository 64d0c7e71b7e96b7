import type { JsonObject } from '../../base/json.ts'
import type {
  GitInfo,
  Goal,
  QueuedInput,
  ReadState,
  ThreadSettings,
  ThreadUsage,
  TurnError,
  TurnStatus,
} from '../events.ts'
import type { DeltaPart, Item } from '../items.ts'
import type { ContextEntry, Opaque } from '../models/model.ts'

/** Version of the record shapes below, in every log's header. */
export const LOG_VERSION = 1

/** One line of a thread's log. Times are milliseconds. */
export type LogRecord = Header | Entry

/** The first record: who the thread is. */
export interface Header {
  readonly t: 'thread'
  readonly v: number
  readonly id: string
  readonly sessionId: string
  readonly forkedFrom: string | null
  readonly createdAt: number
  readonly source: string
  readonly threadSource: string | null
  readonly originator: string | null
  readonly cliVersion: string
  readonly gitInfo: GitInfo | null
  readonly settings: ThreadSettings
  /** What the thread's start set over the configuration, in codex's key names. */
  readonly config: JsonObject
}

export type Entry =
  | { readonly t: 'settings'; readonly settings: ThreadSettings }
  | { readonly t: 'name'; readonly name: string | null }
  | { readonly t: 'turn'; readonly turn: string; readonly startedAt: number }
  | {
      /** A completed item. `context` says that the model should be shown it from here on. */
      readonly t: 'item'
      readonly turn: string
      readonly item: Item
      readonly startedAt: number
      readonly completedAt: number
      readonly context: boolean
      /** State that a wire needs back with this item. */
      readonly opaque?: Opaque
    }
  | {
      /** Text of an item that still grows; its `start` stands in the first piece of it. No record that is owed. */
      readonly t: 'part'
      readonly turn: string
      readonly item: string
      readonly start: Item | null
      readonly part: DeltaPart
      readonly text: string
    }
  /** Something only the model sees: tool calls and results, instructions. */
  | { readonly t: 'context'; readonly turn: string | null; readonly entry: ContextEntry }
  | { readonly t: 'usage'; readonly turn: string; readonly usage: ThreadUsage }
  | {
      readonly t: 'end'
      readonly turn: string
      readonly status: TurnStatus
      readonly error: TurnError | null
      readonly completedAt: number
      readonly durationMs: number
    }
  /** The turn `from` and all after it are taken back: they are neither shown nor told to the model any more. */
  | { readonly t: 'rollback'; readonly from: string }
  | { readonly t: 'git'; readonly gitInfo: GitInfo | null }
  | { readonly t: 'goal'; readonly goal: Goal | null }
  /** Whether memories may be made of this thread. */
  | { readonly t: 'memory'; readonly enabled: boolean }
  /** The whole queue after a change of it. */
  | { readonly t: 'queue'; readonly queue: readonly QueuedInput[] }
  | { readonly t: 'read'; readonly readState: ReadState }

/** A record as it stands in the file: with its ordinal in the log (from 0) and the time it was written. */
export type Stored = LogRecord & { readonly n: number; readonly at: number }
