import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { Thread } from '../../engine/thread.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { Hub } from '../../server/hub.ts'
import type { Session } from '../../server/session.ts'
import { checkSessionId } from '../errors.ts'
import { readReopening, readStart } from '../input.ts'
import { anchorsOf } from '../pages.ts'
import { recordsOf } from '../response-items.ts'
import { toSession, toThread, toTurn } from '../threads.ts'
import { tellUsage } from './fork.ts'
import { turnsPage } from './history.ts'

type Params = ClientRequests['thread/resume']['params']
type Result = ClientRequests['thread/resume']['result']

/** thread/resume: opening a thread again and following it. */
export const resumeMethods = (engine: Engine, hub: Hub) =>
  ({
    'thread/resume': {
      handle(params, cx) {
        if (params.history) return resumeHistory(engine, hub, { params, cx })
        const { session, afterReply } = cx
        const { thread, cold } = open(engine, params)
        // The answer is made in the step that follows the thread: what has completed is in it, what is still open is handed
        // over right behind it, so nothing is missed and nothing comes twice.
        return () => {
          const answer = resumed(engine, thread, params)
          const shown = new Set(answer.thread.turns.map(turn => turn.id))
          afterReply(() => {
            if (cold) engine.emit({ type: 'thread.status', threadId: thread.id, status: thread.status })
            hub.follow(thread.id, session)
            if (!params.excludeTurns) tellUsage(hub, thread, session)
            hub.tell(session, { type: 'thread.goal', threadId: thread.id, turnId: null, goal: thread.goal })
            tellOpenItems(hub, thread, session)
            hub.catchUp(thread.id, session, turnId => shown.has(turnId))
            if (cold) thread.pursue()
          })
          return answer
        }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

/** A history that the client brings along becomes a new thread; ids and paths beside it mean nothing. */
async function resumeHistory(
  engine: Engine,
  hub: Hub,
  { params, cx }: { readonly params: Params; readonly cx: Call },
): Promise<() => Result> {
  const { session, afterReply } = cx
  const records = recordsOf(params.history ?? [], engine.now())
  const thread = await engine.startWith(readStart(params, session), records)
  return () => {
    afterReply(() => {
      hub.follow(thread.id, session)
      engine.emit({ type: 'thread.started', threadId: thread.id, thread: thread.view() })
    })
    return resumed(engine, thread, params)
  }
}

/** Finds the thread a resume means, by id or by the path of its log, and brings it into memory. */
function open(engine: Engine, params: Params): { readonly thread: Thread; readonly cold: boolean } {
  const path = params.path ?? null
  const id = params.threadId === '' && path !== null ? engine.threads.idOfPath(path) : params.threadId
  checkSessionId(id)
  const known = engine.threads.loaded(id)
  if (known && path !== null && path !== known.path) {
    const why = `requested \`${path}\`, active \`${known.path}\``
    throw new EngineError('invalidParams', `cannot resume running thread ${id} with stale path: ${why}`)
  }
  const thread = engine.threads.load(id)
  if (!known) thread.change(engine.changesOf(thread, readReopening(params)).changes)
  return { thread, cold: known === undefined }
}

function resumed(engine: Engine, thread: Thread, params: Params): Result {
  const turns = thread.turns()
  const page = params.initialTurnsPage
  return {
    thread: toThread(thread.view(), params.excludeTurns ? [] : turns.map(turn => toTurn(turn, 'full'))),
    ...toSession(thread.settings, engine.instructionSources(thread)),
    collaborationMode: null,
    initialTurnsPage: page ? turnsPage(turns, page) : null,
    ...anchorsOf(turns),
  }
}

/** Items that have started and not completed: their start, then what they have said so far in one delta. */
function tellOpenItems(hub: Hub, thread: Thread, session: Session): void {
  const open = thread.openItems()
  if (!open) return
  const { turnId } = open
  for (const { item, index, startedAt, text } of open.items) {
    hub.tell(session, { type: 'item.started', threadId: thread.id, turnId, item, index, at: startedAt })
    if (text === '') continue
    const part = { type: item.type === 'command' ? 'output' : item.type === 'plan' ? 'plan' : 'text' } as const
    hub.tell(session, { type: 'item.delta', threadId: thread.id, turnId, itemId: item.id, index, part, delta: text })
  }
}
