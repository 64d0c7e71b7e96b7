/** One event of the Responses API's stream. */
export const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

export const created = (id: string): string => event('response.created', { response: { id } })
export const added = (item: object): string => event('response.output_item.added', { output_index: 0, item })
export const done = (item: object): string => event('response.output_item.done', { output_index: 0, item })
export const completed = (id: string, item: object): string =>
  event('response.completed', { response: { id, output: [item], usage: USAGE } })
export const delta = (itemId: string, text: string): string =>
  event('response.output_text.delta', { item_id: itemId, output_index: 0, content_index: 0, delta: text })

/** An assistant's message; without a text one that has just begun. */
export const message = (id: string, text: string | null): object => ({
  type: 'message',
  role: 'assistant',
  id,
  content: text === null ? [] : [{ type: 'output_text', text, annotations: [] }],
})

/** The ids of one answer. */
export interface Ids {
  readonly response: string
  readonly message: string
}

/** A whole answer in one go: the text in the given pieces. */
export function wholeMessage(ids: Ids, pieces: readonly string[]): string {
  const full = message(ids.message, pieces.join(''))
  const deltas = pieces.map(piece => delta(ids.message, piece)).join('')
  return opening(ids) + deltas + closing(ids, full)
}

export const opening = (ids: Ids): string => created(ids.response) + added(message(ids.message, null))
export const closing = (ids: Ids, full: object): string => done(full) + completed(ids.response, full)

/** Small numbers, so that no server ever compacts. */
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 10 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
}
