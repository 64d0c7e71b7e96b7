import type { TurnView } from './events.ts'
import type { Item } from './items.ts'

/** Characters of a message that a snippet shows around its first match. */
const AROUND = 80

/** A place in a text, in UTF-16 units. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

export interface Snippet {
  readonly text: string
  /** Where the match stands in the snippet. */
  readonly match: TextRange
}

export interface Occurrence {
  readonly turnId: string
  readonly itemId: string
  readonly snippet: Snippet
}

/** What a person reads of an item as a conversation; empty for what is no message. */
function saidIn(item: Item): string {
  if (item.type === 'agentMessage') return item.text
  if (item.type !== 'userMessage') return ''
  return item.content.flatMap(input => (input.type === 'text' ? [input.text] : [])).join('\n')
}

/** Every place in the messages of these turns where `term` stands, whatever its case, in the order of the conversation. */
export function* occurrences(turns: Iterable<TurnView>, term: string): Generator<Occurrence> {
  const find = finder(term)
  for (const turn of turns) {
    for (const item of turn.items) {
      const text = saidIn(item)
      for (const match of find(text)) yield { turnId: turn.id, itemId: item.id, snippet: snippetOf(text, match) }
    }
  }
}

/** Finds a literal text regardless of case. A pattern does it, because a text in lower case can have another length. */
function finder(term: string): (text: string) => Generator<TextRange> {
  const pattern = new RegExp(term.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu')
  return function* (text) {
    for (const match of text.matchAll(pattern)) {
      if (match[0] !== '') yield { start: match.index, end: match.index + match[0].length }
    }
  }
}

/** The match with some text around it, cut between characters. */
function snippetOf(text: string, { start, end }: TextRange): Snippet {
  const from = between(text, Math.max(0, start - AROUND))
  const to = between(text, Math.min(text.length, end + AROUND))
  const [head, tail] = [from > 0 ? '…' : '', to < text.length ? '…' : '']
  const shift = head.length - from
  return { text: head + text.slice(from, to) + tail, match: { start: start + shift, end: end + shift } }
}

/** `at`, or one less where it would cut a pair of surrogates in two. */
function between(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at
}
