/**
 * The one interface between a turn and a language model. A wire turns a `ModelRequest` into its provider's HTTP request
 * and the provider's stream into `ModelEvent`s, delivered synchronously, in order, ending in exactly one `finish` or
 * `error`. A model never runs tools and never retries: both are the turn's business.
 */
export interface Model {
  readonly info: ModelInfo
  /**
   * Streams one response. `emit` is called synchronously from the socket's read; after a `finish` or `error` event it is
   * not called again. The promise settles after that last event and never rejects: every failure is an `error` event.
   */
  stream(request: ModelRequest, emit: (event: ModelEvent) => void, signal: AbortSignal): Promise<void>
}

export interface ModelInfo {
  /** The name a client sends and sees, e.g. `gpt-5.4` or `meta-llama/llama-4`. */
  readonly id: string
  /** Id of its provider, the key under `model_providers`. */
  readonly provider: string
  readonly displayName: string
  readonly description: string
  readonly efforts: readonly { readonly effort: string; readonly description: string }[]
  readonly defaultEffort: string
  readonly images: boolean
  /** Tokens that fit into one request; null when nobody knows. */
  readonly contextWindow: number | null
  /** Whether freeform (grammar) tools may be sent to it. */
  readonly freeformTools: boolean
  /** False for a name that stands in no catalogue: its other fields are guesses. */
  readonly known: boolean
}

export interface ModelRequest {
  /** System text. */
  readonly instructions: string
  readonly context: readonly ContextEntry[]
  readonly tools: readonly ToolSpec[]
  readonly effort: string | null
  /** How much of its reasoning the model should summarise: auto, concise, detailed, none. */
  readonly summary: string | null
  readonly serviceTier: string | null
  /** A JSON schema the last message must fit. */
  readonly outputSchema: unknown
  /** Same for all requests of one thread, so that a provider can reuse its prompt cache. */
  readonly cacheKey: string
}

/** What the model is shown of the past, in order. Kept apart from items: items are for people. */
export type ContextEntry =
  | { readonly type: 'message'; readonly role: 'user' | 'developer'; readonly parts: readonly Part[] }
  | { readonly type: 'text'; readonly text: string; readonly id: string | null; readonly phase: string | null }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque: Opaque }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly namespace: string | null
      /** Raw text as the model wrote it: JSON for a function, anything for a freeform tool. */
      readonly args: string
      readonly freeform: boolean
      readonly opaque: Opaque
    }
  | {
      readonly type: 'result'
      readonly id: string
      readonly name: string
      readonly freeform: boolean
      readonly parts: readonly Part[]
      readonly isError: boolean
    }

export type Part =
  | { readonly type: 'text'; readonly text: string }
  /** `url` is http(s) or a data URL. */
  | { readonly type: 'image'; readonly url: string; readonly detail?: string }

/** State that one wire needs back verbatim (signatures, encrypted reasoning), by wire name; other wires drop it. */
export type Opaque = { readonly [wire: string]: unknown }

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** Tools of a client may live in a namespace. */
  readonly namespace?: string
  /** JSON schema of the arguments (function tools). */
  readonly parameters?: unknown
  /** Lark grammar of the input (freeform tools). */
  readonly grammar?: string
}

/** `index` says which output item an event belongs to; items of one response never share an index. */
export type ModelEvent =
  | { readonly type: 'start'; readonly responseId: string | null; readonly model: string | null }
  | { readonly type: 'item.start'; readonly index: number; readonly item: OutputStart }
  | { readonly type: 'text'; readonly index: number; readonly delta: string }
  | { readonly type: 'summary.part'; readonly index: number; readonly part: number }
  | { readonly type: 'summary'; readonly index: number; readonly part: number; readonly delta: string }
  | { readonly type: 'reasoning'; readonly index: number; readonly part: number; readonly delta: string }
  | { readonly type: 'args'; readonly index: number; readonly delta: string }
  /** The truth about an item: deltas are decoration. */
  | { readonly type: 'item.end'; readonly index: number; readonly item: OutputItem }
  | { readonly type: 'finish'; readonly reason: 'stop' | 'length' | 'filter'; readonly usage: Usage | null }
  | { readonly type: 'error'; readonly error: ModelFailure }

export type OutputStart =
  | { readonly type: 'text'; readonly id: string | null; readonly phase: string | null }
  | { readonly type: 'reasoning'; readonly id: string | null }
  | { readonly type: 'call'; readonly id: string; readonly name: string }
  | { readonly type: 'other' }

export type OutputItem =
  | { readonly type: 'text'; readonly id: string | null; readonly text: string; readonly phase: string | null }
  | {
      readonly type: 'reasoning'
      readonly id: string | null
      readonly summary: readonly string[]
      readonly content: readonly string[]
      readonly opaque: Opaque
    }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly namespace: string | null
      readonly args: string
      readonly freeform: boolean
      readonly opaque: Opaque
    }
  | { readonly type: 'other'; readonly raw: unknown }

/** Tokens of one response. `input` includes `cached`; `output` includes `reasoning`. */
export interface Usage {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  readonly total: number
}

/**
 * Why a stream ended without a usable answer.
 * - `http`: the provider answered with an error status; `status`, `body` (at most 64 KiB) and `url` are set.
 * - `network`: refused, reset, or cut before the end of the response.
 * - `truncated`: the stream ended cleanly but without its terminal event.
 * - `timeout`: no headers, or no event for too long.
 * - `tooLarge`: one event over 16 MiB or a response over 256 Mi characters.
 * - `failed`: the provider said in the stream that it failed; `code` is its own word for why.
 * - `aborted`: our own signal.
 */
export interface ModelFailure {
  readonly kind: 'http' | 'network' | 'truncated' | 'timeout' | 'tooLarge' | 'failed' | 'aborted'
  readonly message: string
  readonly code?: string
  readonly status?: number
  readonly statusText?: string
  readonly body?: string
  readonly url?: string
  /** Milliseconds after which the provider asked to be tried again (`retry-after`). */
  readonly retryAfterMs?: number
}
