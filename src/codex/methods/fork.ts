import type { JsonObject } from '../../base/json.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Thread } from '../../engine/thread.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { Hub } from '../../server/hub.ts'
import type { Session } from '../../server/session.ts'
import { checkSessionId } from '../errors.ts'
import { readReopening } from '../input.ts'
import { toSession, toThread, toTurn } from '../threads.ts'

/** thread/fork: a thread of its own with another one's past. */
export const forkMethods = (engine: Engine, hub: Hub) =>
  ({
    'thread/fork': {
      async handle(params, { session, afterReply }) {
        const path = params.path ?? null
        const sourceId = path === null ? params.threadId : engine.threads.idOfPath(path)
        checkSessionId(sourceId)
        const { thread, warning } = await engine.forkThread({
          sourceId,
          lastTurnId: params.lastTurnId ?? null,
          beforeTurnId: params.beforeTurnId ?? null,
          ephemeral: params.ephemeral ?? false,
          threadSource: params.threadSource ?? null,
          originator: session.client?.name ?? null,
          cliVersion: session.claimedVersion,
          change: readReopening(params),
          overrides: (params.config ?? {}) as JsonObject,
        })
        afterReply(() => {
          hub.follow(thread.id, session)
          if (!params.excludeTurns) tellUsage(hub, thread, session)
          engine.emit({ type: 'thread.started', threadId: thread.id, thread: thread.view() })
          if (warning) thread.warnOnce(warning)
          engine.threads.rest(thread.id)
        })
        const turns = params.excludeTurns ? [] : thread.turns().map(turn => toTurn(turn, 'full'))
        const sources = engine.instructionSources(thread)
        return { thread: toThread(thread.view(), turns), ...toSession(thread.settings, sources) }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

/** Tells one connection again what a thread has used, so that it can show it before the next turn. */
export function tellUsage(hub: Hub, thread: Thread, session: Session): void {
  const { usage, usageTurn } = thread
  if (usage && usageTurn) hub.tell(session, { type: 'usage', threadId: thread.id, turnId: usageTurn, usage })
}
