import { newId } from '../../base/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import type { QueuedInput } from '../../engine/events.ts'
import { added, queued, removed, reordered, updated } from '../../engine/queue.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { QueuedSubmission } from '../../protocol/codex/types.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { readInput } from '../input.ts'
import { toInput } from '../items.ts'
import { limitOf, pageOf } from '../pages.ts'
import { toTurn } from '../threads.ts'

/** thread/queue/*: input that waits for a turn of its own. It survives the server. */
export const queueMethods = (engine: Engine) => {
  const changed = (threadId: string): void => engine.emit({ type: 'thread.queue', threadId })
  return {
    'thread/queue/add': {
      handle(params, { afterReply }) {
        const thread = engine.threads.require(params.threadId)
        const entry: QueuedInput = {
          id: newId(),
          clientId: params.clientUserMessageId,
          input: readInput(params.input),
          metadata: params.responsesapiClientMetadata ?? null,
        }
        thread.changeQueue(added(thread.queue, entry))
        afterReply(() => {
          changed(thread.id)
          thread.wake()
        })
        return { queuedSubmission: toSubmission(entry) }
      },
    },

    'thread/queue/list': {
      handle(params) {
        const { queue } = engine.threads.require(params.threadId)
        const page = pageOf(queue, entry => entry.id, 'queuedSubmissionId', {
          cursor: params.cursor ?? null,
          limit: limitOf(params.limit, 100),
          descending: false,
        })
        return { data: page.data.map(toSubmission), nextCursor: page.next }
      },
    },

    'thread/queue/update': {
      handle(params, { afterReply }) {
        const thread = engine.threads.require(params.threadId)
        const change = { input: readInput(params.input), metadata: params.responsesapiClientMetadata ?? null }
        thread.changeQueue(updated(thread.queue, params.queuedSubmissionId, change))
        afterReply(() => changed(thread.id))
        return { queuedSubmission: toSubmission(queued(thread.queue, params.queuedSubmissionId)) }
      },
    },

    'thread/queue/delete': {
      handle({ threadId, queuedSubmissionId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const rest = removed(thread.queue, queuedSubmissionId)
        if (rest.length === thread.queue.length) return { deleted: false }
        thread.changeQueue(rest)
        afterReply(() => changed(thread.id))
        return { deleted: true }
      },
    },

    'thread/queue/reorder': {
      handle({ threadId, queuedSubmissionIds }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        thread.changeQueue(reordered(thread.queue, queuedSubmissionIds))
        afterReply(() => changed(thread.id))
        return {}
      },
    },

    'thread/queue/start': {
      handle({ threadId, queuedSubmissionId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const { turn, begin } = thread.startQueued(queuedSubmissionId ?? null)
        afterReply(() => {
          changed(thread.id)
          begin()
        })
        return { turn: toTurn(turn) }
      },
    },
  } satisfies Methods<ClientRequests, Call>
}

const toSubmission = ({ id, clientId, input, metadata }: QueuedInput): QueuedSubmission => ({
  id,
  input: input.map(toInput),
  clientUserMessageId: clientId,
  responsesapiClientMetadata: metadata,
})
