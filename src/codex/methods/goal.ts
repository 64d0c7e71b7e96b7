import type { Engine } from '../../engine/engine.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { toGoal } from '../threads.ts'

/** thread/goal/*: what a thread works towards by itself. */
export const goalMethods = (engine: Engine) =>
  ({
    'thread/goal/get': {
      handle({ threadId }) {
        const { goal, id } = engine.threads.require(threadId)
        return { goal: goal && toGoal(id, goal) }
      },
    },

    'thread/goal/set': {
      handle({ threadId, objective, status, tokenBudget }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const goal = thread.changeGoal({ objective: objective ?? null, status: status ?? null, tokenBudget })
        afterReply(() => {
          engine.emit({ type: 'thread.goal', threadId: thread.id, turnId: null, goal })
          thread.pursue()
        })
        return { goal: toGoal(thread.id, goal) }
      },
    },

    'thread/goal/clear': {
      handle({ threadId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const cleared = thread.clearGoal()
        if (cleared) {
          afterReply(() => engine.emit({ type: 'thread.goal', threadId: thread.id, turnId: null, goal: null }))
        }
        return { cleared }
      },
    },
  }) satisfies Methods<ClientRequests, Call>
