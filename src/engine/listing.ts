import { EngineError } from './errors.ts'
import type { ThreadView } from './events.ts'

export interface ThreadQuery {
  readonly cursor: string | null
  readonly limit: number
  readonly sortKey: 'createdAt' | 'updatedAt' | 'recencyAt'
  readonly descending: boolean
  /** Exact working folders; null = any. */
  readonly cwds: readonly string[] | null
  /** Null or empty = any. */
  readonly providers: readonly string[] | null
  readonly sources: readonly string[] | null
  /** Case-sensitive part of the name or the preview. */
  readonly searchTerm: string | null
}

/** One page of a longer list. A null cursor: nothing more that way. */
export interface Page<T> {
  readonly data: readonly T[]
  readonly next: string | null
  /** Continues from this page's first entry in the other direction. */
  readonly back: string | null
}

/** One page of threads. Threads in which nothing has been said, and ephemeral ones, are never listed. */
export function listThreads(views: Iterable<ThreadView>, query: ThreadQuery): Page<ThreadView> {
  const { sortKey, descending } = query
  const from = query.cursor === null ? null : readCursor(query.cursor)
  const sign = descending ? -1 : 1
  const order = (a: Place, b: Place): number => sign * (a.time - b.time || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  const place = (view: ThreadView): Place => ({ time: view[sortKey], id: view.id })
  const found = [...views]
    .filter(view => wanted(view, query) && (!from || order(place(view), from) > 0))
    .sort((a, b) => order(place(a), place(b)))
  const data = found.slice(0, query.limit)
  const last = data.at(-1)
  return {
    data,
    next: last && found.length > data.length ? writeCursor(place(last)) : null,
    back: data[0] ? writeCursor(place(data[0])) : null,
  }
}

interface Place {
  readonly time: number
  readonly id: string
}

function wanted(view: ThreadView, query: ThreadQuery): boolean {
  if (view.ephemeral) return false
  if (query.cwds && !query.cwds.includes(view.cwd)) return false
  if (query.providers?.length && !query.providers.includes(view.provider)) return false
  if (query.sources?.length && !query.sources.includes(view.source)) return false
  if (query.searchTerm === null) return true
  return (view.name ?? '').includes(query.searchTerm) || view.preview.includes(query.searchTerm)
}

/** A cursor is the place of a thread, so that inserting or deleting others never moves it. */
const writeCursor = ({ time, id }: Place): string => `${new Date(time).toISOString()}|${id}`

function readCursor(cursor: string): Place {
  const [time = '', id = ''] = cursor.split('|')
  const ms = Date.parse(time)
  if (!/^\d{4}-\d\d-\d\dT/.test(time) || Number.isNaN(ms)) {
    throw new EngineError('invalidCursor', `invalid cursor: ${cursor}`)
  }
  return { time: ms, id }
}
