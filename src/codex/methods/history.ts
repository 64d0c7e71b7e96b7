import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { ThreadView, TurnView } from '../../engine/events.ts'
import type { Item } from '../../engine/items.ts'
import { storedView } from '../../engine/threads.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { ThreadItemEntry, Turn, TurnItemsView } from '../../protocol/codex/types.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { toPastItem } from '../items.ts'
import { limitOf, pageOf } from '../pages.ts'
import { toThread, toTurn } from '../threads.ts'

/** thread/read and the paged views of a thread's past. None of them loads the thread. */
export const historyMethods = (engine: Engine) =>
  ({
    'thread/read': {
      lane: 'none',
      handle({ threadId, includeTurns }) {
        const past = pastOf(engine, threadId)
        if (includeTurns) requireHistory(past, 'includeTurns')
        const turns = includeTurns ? past.turns().map(turn => toTurn(turn, 'full')) : []
        return { thread: toThread(past.view, turns), readState: past.view.readState }
      },
    },

    'thread/turns/list': {
      lane: 'none',
      handle(params) {
        const past = pastOf(engine, params.threadId)
        requireHistory(past, 'thread/turns/list')
        return turnsPage(past.turns(), params)
      },
    },

    'thread/items/read': {
      lane: 'none',
      handle({ threadId, turnId, itemIds }) {
        const turn = pastOf(engine, threadId)
          .turns()
          .find(entry => entry.id === turnId)
        if (!turn) throw new EngineError('turnNotFound', `turn not found: ${turnId}`)
        const wanted = new Set(itemIds)
        return { data: turn.items.filter(item => wanted.has(item.id)).map(item => toEntry(turnId, item)) }
      },
    },

    'thread/items/list': {
      lane: 'none',
      handle(params) {
        const past = pastOf(engine, params.threadId)
        const wanted = past.turns().filter(turn => params.turnId == null || turn.id === params.turnId)
        const entries = wanted.flatMap(turn => turn.items.map(item => ({ turnId: turn.id, item })))
        const cursor = params.cursor ?? null
        const page = pageOf(entries, entry => entry.item.id, 'itemId', {
          cursor: cursor === null || typeof cursor === 'string' ? cursor : anchorCursor(cursor),
          limit: limitOf(params.limit, 100),
          descending: params.sortDirection === 'desc',
        })
        const data = page.data.map(({ turnId, item }) => toEntry(turnId, item))
        return { data, nextCursor: page.next, backwardsCursor: page.back }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

const toEntry = (turnId: string, item: Item): ThreadItemEntry => ({
  turnId,
  item: toPastItem(item),
  startedAtMs: null,
  completedAtMs: null,
})

interface Past {
  readonly view: ThreadView
  /** Whether anything has been said yet. */
  readonly materialized: boolean
  turns(): readonly TurnView[]
}

/** A thread's past, from memory or from its log. */
export function pastOf(engine: Engine, threadId: string): Past {
  const loaded = engine.threads.loaded(threadId)
  if (loaded) return { view: loaded.view(), materialized: loaded.materialized, turns: () => loaded.turns() }
  const stored = engine.threads.stored(threadId)
  if (!stored) throw new EngineError('threadNotLoaded', `thread not loaded: ${threadId}`)
  return { view: storedView(stored), materialized: true, turns: () => stored.history.turns() }
}

function requireHistory(past: Past, what: string): void {
  if (past.view.ephemeral) throw new EngineError('ephemeralThread', `ephemeral threads do not support ${what}`)
  if (past.materialized) return
  const why = `thread ${past.view.id} is not materialized yet; ${what} is unavailable before first user message`
  throw new EngineError('threadNotMaterialized', why)
}

/** One page of turns, newest first unless asked otherwise. */
export function turnsPage(
  turns: readonly TurnView[],
  query: {
    readonly cursor?: string | null
    readonly limit?: number | null
    readonly sortDirection?: string | null
    readonly itemsView?: TurnItemsView | null
  },
): { data: Turn[]; nextCursor: string | null; backwardsCursor: string | null } {
  const page = pageOf(turns, turn => turn.id, 'turnId', {
    cursor: query.cursor ?? null,
    limit: limitOf(query.limit, 25),
    descending: query.sortDirection !== 'asc',
  })
  const data = page.data.map(turn => toTurn(turn, query.itemsView ?? 'summary'))
  return { data, nextCursor: page.next, backwardsCursor: page.back }
}

/** The newer pin may name an item to start from instead of a cursor. */
function anchorCursor(anchor: object): string {
  return JSON.stringify({ ...anchor, includeAnchor: true })
}
