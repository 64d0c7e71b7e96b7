import { isObject } from '../base/json.ts'
import { EngineError } from '../engine/errors.ts'
import type { TurnView } from '../engine/events.ts'
import type { Page } from '../engine/listing.ts'

export interface PageQuery {
  readonly cursor: string | null
  readonly limit: number
  readonly descending: boolean
}

/**
 * One page of a list whose entries have ids, in codex's cursor form: an entry's id and whether that entry is part of the
 * page. `name` is the key the id has in the cursor.
 */
export function pageOf<T>(entries: readonly T[], idOf: (entry: T) => string, name: string, query: PageQuery): Page<T> {
  const ordered = query.descending ? entries.toReversed() : entries
  const start = query.cursor === null ? 0 : startOf(ordered.map(idOf), name, query.cursor)
  const data = ordered.slice(start, start + query.limit)
  const [first, last] = [data[0], data.at(-1)]
  const cursor = (entry: T, includeAnchor: boolean): string => JSON.stringify({ [name]: idOf(entry), includeAnchor })
  return {
    data,
    next: last !== undefined && start + data.length < ordered.length ? cursor(last, false) : null,
    back: first === undefined ? null : cursor(first, true),
  }
}

/** Cursors that lead back from the end of a history, for thread/turns/list and thread/items/list in descending order. */
export function anchorsOf(turns: readonly TurnView[]): {
  readonly turnsBackwardsCursor: string | null
  readonly itemsBackwardsCursor: string | null
} {
  const turnId = turns.at(-1)?.id
  const itemId = turns.flatMap(turn => turn.items.at(-1) ?? []).at(-1)?.id
  return {
    turnsBackwardsCursor: turnId === undefined ? null : JSON.stringify({ turnId, includeAnchor: true }),
    itemsBackwardsCursor: itemId === undefined ? null : JSON.stringify({ itemId, includeAnchor: true }),
  }
}

function startOf(ids: readonly string[], name: string, cursor: string): number {
  const anchor = readAnchor(cursor, name)
  const at = anchor ? ids.indexOf(anchor.id) : -1
  if (!anchor || at < 0) throw new EngineError('invalidCursor', `invalid cursor: ${cursor}`)
  return anchor.include ? at : at + 1
}

function readAnchor(cursor: string, name: string): { readonly id: string; readonly include: boolean } | null {
  try {
    const value: unknown = JSON.parse(cursor)
    const id = isObject(value) ? value[name] : null
    return isObject(value) && typeof id === 'string' ? { id, include: value.includeAnchor === true } : null
  } catch {
    return null
  }
}

/** A page of a list that has no ids: the cursor is the offset of the next entry. */
export function offsetPage<T>(
  entries: readonly T[],
  query: { readonly cursor: string | null; readonly limit: number },
  noun: string,
): { readonly data: readonly T[]; readonly next: string | null } {
  const start = query.cursor === null ? 0 : Number(query.cursor)
  if (query.cursor !== null && !/^\d+$/.test(query.cursor)) {
    throw new EngineError('invalidCursor', `invalid cursor: ${query.cursor}`)
  }
  if (start > entries.length) {
    throw new EngineError('invalidCursor', `cursor ${start} exceeds total ${noun} ${entries.length}`)
  }
  const data = entries.slice(start, start + query.limit)
  const end = start + data.length
  return { data, next: end < entries.length ? String(end) : null }
}

/** Entries on a page when the client does not say; a limit of 0 acts as 1, as in codex. */
export const limitOf = (limit: number | null | undefined, otherwise: number): number =>
  Math.min(Math.max(limit ?? otherwise, 1), 10_000)
