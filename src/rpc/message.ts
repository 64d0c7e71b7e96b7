/**
 * The JSON text of a request id exactly as it came (`7`, `"a"`, `9007199254740993`), so that it can be echoed byte for byte.
 */
export type RawId = string

/** What one incoming text is. */
export type Incoming =
  | { readonly kind: 'request'; readonly id: RawId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'result'; readonly id: RawId; readonly result: unknown }
  | { readonly kind: 'failure'; readonly id: RawId; readonly error: unknown }
  /** Must be answered with this error; `id` null where none could be read. */
  | { readonly kind: 'invalid'; readonly id: RawId | null; readonly code: number; readonly message: string }
  /** A blank line: nothing to say. */
  | { readonly kind: 'blank' }
