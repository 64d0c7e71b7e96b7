import { isUuid } from '../../base/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { checkSessionId } from '../errors.ts'
import { toThread } from '../threads.ts'

/** Putting threads away, bringing them back, and deleting them. */
export const archiveMethods = (engine: Engine) =>
  ({
    'thread/archive': {
      async handle({ threadId }, { afterReply }) {
        checkSessionId(threadId)
        await engine.threads.archive(threadId)
        afterReply(() => engine.emit({ type: 'thread.archived', threadId: threadId.toLowerCase() }))
        return {}
      },
    },

    'thread/unarchive': {
      handle({ threadId }, { afterReply }) {
        checkSessionId(threadId)
        const view = engine.threads.unarchive(threadId)
        afterReply(() => engine.emit({ type: 'thread.unarchived', threadId: view.id }))
        return { thread: toThread(view) }
      },
    },

    'thread/delete': {
      async handle({ threadId }, { afterReply }) {
        if (!isUuid(threadId)) throw new EngineError('threadIdInvalid', threadId)
        await engine.threads.delete(threadId)
        afterReply(() => engine.emit({ type: 'thread.deleted', threadId: threadId.toLowerCase() }))
        return {}
      },
    },
  }) satisfies Methods<ClientRequests, Call>
