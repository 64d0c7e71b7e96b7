import { isUuid } from '../../base/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { ReadState, ThreadView } from '../../engine/events.ts'
import { listThreads } from '../../engine/listing.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { Hub } from '../../server/hub.ts'
import { readStart } from '../input.ts'
import { limitOf } from '../pages.ts'
import { toSession, toThread } from '../threads.ts'

/** thread/*: making, finding, opening and leaving threads. */
export const threadMethods = (engine: Engine, hub: Hub) =>
  ({
    'thread/start': {
      handle(params, { session, afterReply }) {
        const { thread, warnings } = engine.startThread(readStart(params, session))
        afterReply(() => {
          hub.follow(thread.id, session)
          engine.emit({ type: 'thread.started', threadId: thread.id, thread: thread.view() })
          for (const message of warnings) thread.warnOnce(message)
          engine.threads.rest(thread.id)
        })
        const sources = engine.instructionSources(thread)
        return { thread: toThread(thread.view()), ...toSession(thread.settings, sources) }
      },
    },

    'thread/name/set': {
      async handle({ threadId, name }, { afterReply }) {
        const trimmed = name.trim()
        if (trimmed === '') throw new EngineError('invalidParams', 'thread name must not be empty')
        const told = await engine.rename(threadId, trimmed)
        afterReply(told)
        return {}
      },
    },

    'thread/list': {
      lane: 'none',
      handle(params) {
        const page = listThreads(isNarrowed(params) ? [] : engine.threads.views(params.archived ?? false), {
          cursor: params.cursor ?? null,
          limit: limitOf(params.limit, 25),
          sortKey: SORT_KEYS[params.sortKey ?? 'created_at'] ?? 'createdAt',
          descending: params.sortDirection !== 'asc',
          cwds: params.cwd == null ? null : [params.cwd].flat(),
          providers: params.modelProviders ?? null,
          sources: params.sourceKinds ?? null,
          searchTerm: params.searchTerm ?? null,
        })
        const data = page.data.map(view => toThread(view))
        return { data, nextCursor: page.next, backwardsCursor: page.back, readStates: readStates(page.data) }
      },
    },

    'thread/loaded/list': {
      lane: 'none',
      handle(params) {
        const ids = engine.threads.allLoaded.map(thread => thread.id).sort()
        const cursor = params.cursor ?? null
        if (cursor !== null && !UUID.test(cursor)) throw new EngineError('invalidCursor', `invalid cursor: ${cursor}`)
        const rest = cursor === null ? ids : ids.filter(id => id > cursor)
        const data = rest.slice(0, limitOf(params.limit, ids.length))
        return { data, nextCursor: data.length < rest.length ? (data.at(-1) ?? null) : null }
      },
    },

    'thread/unsubscribe': {
      handle({ threadId }, { session, afterReply }) {
        if (!isUuid(threadId)) throw new EngineError('threadIdInvalid', threadId)
        const thread = engine.threads.loaded(threadId)
        if (!thread) return { status: 'notLoaded' as const }
        const status = hub.isFollowing(thread.id, session) ? ('unsubscribed' as const) : ('notSubscribed' as const)
        afterReply(() => hub.unfollow(thread.id, session))
        return { status }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Wire names of what lists can be sorted by. */
export const SORT_KEYS: Readonly<Record<string, 'createdAt' | 'updatedAt' | 'recencyAt'>> = {
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  recency_at: 'recencyAt',
}

const readStates = (views: readonly ThreadView[]): Readonly<Record<string, ReadState>> =>
  Object.fromEntries(views.map(view => [view.id, view.readState]))

type ListParams = ClientRequests['thread/list']['params']

/** Filters for kinds of threads we never make: their page is empty. */
function isNarrowed(params: ListParams): boolean {
  return [
    params.parentThreadId,
    params.ancestorThreadId,
    params.attachedToThreadId,
    params.sectionId,
    params.projectId,
  ].some(filter => filter != null)
}
