/** One answer of the mock model. Plain JSON, so that a script can stand beside the conversation it makes. */
export interface Step {
  /** An assistant message, streamed as these deltas. */
  readonly say?: readonly string[]
  /** Deltas of a message, then the stream dies before it completes. */
  readonly sayThenCut?: readonly string[]
  /** `commentary` or `final_answer`, on the message. */
  readonly phase?: string
  /** Parts of a reasoning summary, before everything else. */
  readonly reason?: readonly string[]
  /** Deltas of raw reasoning. */
  readonly raw?: readonly string[]
  /** Function calls, after the message. */
  readonly calls?: readonly Call[]
  /** A call of a freeform tool. */
  readonly custom?: { readonly name: string; readonly input: string }
  /** Output items sent exactly as they are (Responses only). */
  readonly items?: readonly object[]
  /** An HTTP failure instead of a stream. */
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** A failure inside the stream. */
  readonly fail?: { readonly code: string; readonly message: string }
  /** The stream dies before it says anything. */
  readonly cut?: true
  /** Waits for `release(gate)` before it answers. */
  readonly gate?: string
  /** Waits for `release(gateAfter)` after the first delta, or before the end when it says nothing. */
  readonly gateAfter?: string
  /** Milliseconds before every delta of the message, or before the end when it says nothing. */
  readonly pauseMs?: number
  readonly usage?: object
  /** Stays the next step for ever. */
  readonly repeat?: true
}

/** A function call of the model. */
export interface Call {
  readonly name: string
  readonly namespace?: string
  readonly args: Readonly<Record<string, unknown>>
}

/** What a wire needs beside the step to play it. */
export interface Stage {
  /** Number of this answer, from 1; ids are made of it. */
  readonly n: number
  /** Resolves when a gate is released; at once for a gate that was. */
  pass(gate: string): Promise<void>
}

/** Tokens every answer reports unless its step says otherwise. */
export const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
}
