import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { GitInfo } from '../../engine/events.ts'
import { storedView } from '../../engine/threads.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import { INVALID_REQUEST, RpcError } from '../../rpc/error.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { readResponseItems } from '../response-items.ts'
import { toThread } from '../threads.ts'

type GitChange = NonNullable<ClientRequests['thread/metadata/update']['params']['gitInfo']>

/** Facts about a thread that a client states, and what it puts into the model's context. */
export const factMethods = (engine: Engine) =>
  ({
    'thread/metadata/update': {
      async handle({ threadId, gitInfo }) {
        const current = await viewOf(engine, threadId)
        const next = gitAfter(current.gitInfo, gitInfo ?? {})
        return { thread: toThread(await engine.threads.note(threadId, { t: 'git', gitInfo: next })) }
      },
    },

    'thread/memoryMode/set': {
      async handle({ threadId, mode }) {
        await engine.threads.note(threadId, { t: 'memory', enabled: mode === 'enabled' })
        return {}
      },
    },

    'thread/readState/update': {
      async handle({ threadId, operation, expectedRevision }, { afterReply }) {
        const { changed, readState } = await engine.threads.markRead(
          threadId,
          operation.type === 'read',
          expectedRevision,
        )
        if (changed) afterReply(() => engine.emit({ type: 'thread.read', threadId, readState }))
        return { readState }
      },
    },

    'thread/inject_items': {
      async handle({ threadId, items }) {
        const thread = engine.threads.require(threadId)
        thread.inject(readResponseItems(items))
        await thread.sync()
        return {}
      },
    },

    'thread/increment_elicitation': {
      handle({ threadId }) {
        const count = engine.threads.require(threadId).countElicitation(1)
        return { count, paused: count > 0 }
      },
    },

    'thread/decrement_elicitation': {
      handle({ threadId }) {
        const count = engine.threads.require(threadId).countElicitation(-1)
        return { count, paused: count > 0 }
      },
    },

    // Commands end with their turn, so nothing is ever left in the background.
    'thread/backgroundTerminals/list': {
      handle({ threadId }) {
        engine.threads.require(threadId)
        return { data: [], nextCursor: null }
      },
    },
    'thread/backgroundTerminals/clean': {
      handle({ threadId }) {
        engine.threads.require(threadId)
        return {}
      },
    },
    'thread/backgroundTerminals/terminate': {
      handle({ threadId }) {
        engine.threads.require(threadId)
        return { terminated: false }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

async function viewOf(engine: Engine, threadId: string): Promise<{ readonly gitInfo: GitInfo | null }> {
  const loaded = engine.threads.loaded(threadId)
  if (loaded) return loaded.view()
  const stored = engine.threads.stored(threadId)
  if (!stored) throw new EngineError('threadNotFound', `thread not found: ${threadId}`)
  return storedView(stored)
}

/** Fields that are absent stay, null clears one, and blank ones are refused. */
function gitAfter(current: GitInfo | null, change: GitChange): GitInfo {
  const names = ['sha', 'branch', 'originUrl'] as const
  if (names.every(name => change[name] === undefined)) {
    throw new RpcError(INVALID_REQUEST, 'gitInfo must include at least one field')
  }
  const blank = names.find(name => change[name]?.trim() === '')
  if (blank) throw new RpcError(INVALID_REQUEST, `gitInfo.${blank} must not be empty`)
  const field = (name: (typeof names)[number]): string | null => {
    const value = change[name]
    return value === undefined ? (current?.[name] ?? null) : (value?.trim() ?? null)
  }
  return { sha: field('sha'), branch: field('branch'), originUrl: field('originUrl') }
}
