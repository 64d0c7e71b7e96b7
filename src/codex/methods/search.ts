import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { ThreadView } from '../../engine/events.ts'
import { listThreads } from '../../engine/listing.ts'
import { type Occurrence, occurrences } from '../../engine/search.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { limitOf, offsetPage } from '../pages.ts'
import { toThread } from '../threads.ts'
import { pastOf } from './history.ts'
import { SORT_KEYS } from './thread.ts'

/** Threads whose logs are read between two looks at whether something else wants to run. */
const AT_ONCE = 8

/** Searching what has been said, in all threads or in one. */
export const searchMethods = (engine: Engine) =>
  ({
    'thread/search': {
      lane: 'none',
      async handle(params) {
        if (params.searchTerm === '') throw needsTerm('thread/search')
        const limit = limitOf(params.limit, 25)
        const query = {
          cursor: params.cursor ?? null,
          sortKey: SORT_KEYS[params.sortKey ?? 'created_at'] ?? 'createdAt',
          descending: params.sortDirection !== 'asc',
          cwds: null,
          providers: null,
          sources: params.sourceKinds ?? null,
          searchTerm: null,
        } as const
        const all = listThreads(engine.threads.views(params.archived ?? false), {
          ...query,
          limit: Number.MAX_SAFE_INTEGER,
        })
        // One more than the page: whether there is a next page is known when its first thread is.
        const found = await firstMatches(engine, all.data, { term: params.searchTerm, count: limit + 1 })
        const page = listThreads(
          found.map(({ view }) => view),
          { ...query, limit },
        )
        const data = page.data.map(view => {
          return { thread: toThread(view), snippet: found.find(match => match.view === view)?.snippet ?? '' }
        })
        return { data, nextCursor: page.next, backwardsCursor: page.back }
      },
    },

    'thread/searchOccurrences': {
      lane: 'none',
      handle({ threadId, searchTerm, cursor, limit }) {
        if (searchTerm === '') throw needsTerm('thread/searchOccurrences')
        const found = [...occurrences(pastOf(engine, threadId).turns(), searchTerm)]
        const page = offsetPage(found, { cursor: cursor ?? null, limit: limitOf(limit, 100) }, 'occurrences')
        return { data: page.data.map(toOccurrence), nextCursor: page.next }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

interface Match {
  readonly view: ThreadView
  readonly snippet: string
}

/** The first `count` threads in which `term` has been said, in the order given. Lets others run in between. */
async function firstMatches(
  engine: Engine,
  views: readonly ThreadView[],
  wanted: { readonly term: string; readonly count: number },
): Promise<readonly Match[]> {
  const found: Match[] = []
  for (const [at, view] of views.entries()) {
    if (found.length >= wanted.count) break
    if (at % AT_ONCE === AT_ONCE - 1) await new Promise(resolve => setImmediate(resolve))
    const snippet = snippetIn(engine, view.id, wanted.term)
    if (snippet !== null) found.push({ view, snippet })
  }
  return found
}

/** Null when it stands nowhere, or when the thread has gone meanwhile. */
function snippetIn(engine: Engine, threadId: string, term: string): string | null {
  const turns = engine.threads.loaded(threadId)?.turns() ?? engine.threads.stored(threadId)?.history.turns() ?? []
  const [first] = occurrences(turns, term)
  return first?.snippet.text ?? null
}

const toOccurrence = ({ turnId, itemId, snippet }: Occurrence) => ({
  turnId,
  itemId,
  snippet: snippet.text,
  snippetMatchRange: snippet.match,
  turnCursor: JSON.stringify({ turnId, includeAnchor: true }),
})

const needsTerm = (method: string): EngineError =>
  new EngineError('invalidParams', `${method} requires a non-empty searchTerm`)
