import type { Engine } from '../../engine/engine.ts'
import type { Thread } from '../../engine/thread.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { anchorsOf } from '../pages.ts'
import { toThread, toTurn } from '../threads.ts'

/** Taking turns back. Files that they changed stay as they are. */
export const rollbackMethods = (engine: Engine) =>
  ({
    'thread/rollback': {
      handle({ threadId, numTurns }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        thread.rollback(numTurns)
        afterReply(() => tell(engine, thread))
        const turns = thread.turns().map(turn => toTurn(turn, 'full'))
        return { thread: toThread(thread.view(), turns) }
      },
    },

    'thread/revert': {
      handle({ threadId, beforeTurnId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        thread.revert(beforeTurnId)
        afterReply(() => tell(engine, thread))
        return { thread: toThread(thread.view()), ...anchorsOf(thread.turns()) }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

/** Whoever follows the thread shows other turns now, and another fill of the context. */
function tell(engine: Engine, thread: Thread): void {
  engine.emit({ type: 'thread.reverted', threadId: thread.id })
  const { usage, usageTurn } = thread
  if (usage && usageTurn) engine.emit({ type: 'usage', threadId: thread.id, turnId: usageTurn, usage })
}
