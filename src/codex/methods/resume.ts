import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { Thread } from '../../engine/thread.ts'
import type { SettingsChange } from '../../engine/thread-settings.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import { INVALID_REQUEST, RpcError } from '../../rpc/error.ts'
import { notificationFrame } from '../../rpc/message.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { Hub } from '../../server/hub.ts'
import type { Session } from '../../server/session.ts'
import { checkSessionId } from '../errors.ts'
import { readPolicy, readSandboxMode } from '../input.ts'
import { toSession, toThread, toTurn } from '../threads.ts'
import { turnsPage } from './history.ts'

type Params = ClientRequests['thread/resume']['params']
type Result = ClientRequests['thread/resume']['result']

/** thread/resume: opening a thread again and following it. */
export const resumeMethods = (engine: Engine, hub: Hub) =>
  ({
    'thread/resume': {
      handle(params, { session, afterReply }) {
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
            session.post(notificationFrame('thread/goal/cleared', { threadId: thread.id }))
            tellOpenItems(hub, thread, session)
            hub.catchUp(thread.id, session, turnId => shown.has(turnId))
          })
          return answer
        }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

/** Finds the thread a resume means, by id or by the path of its log, and brings it into memory. */
function open(engine: Engine, params: Params): { readonly thread: Thread; readonly cold: boolean } {
  if (params.history) throw new EngineError('invalidParams', 'resuming from a history is not supported')
  const path = params.path ?? null
  const id = params.threadId === '' && path !== null ? engine.threads.idOfPath(path) : params.threadId
  checkSessionId(id)
  const known = engine.threads.loaded(id)
  if (known && path !== null && path !== known.path) {
    const why = `requested \`${path}\`, active \`${known.path}\``
    throw new EngineError('invalidParams', `cannot resume running thread ${id} with stale path: ${why}`)
  }
  const thread = engine.threads.load(id)
  if (!known) thread.change(engine.changesOf(thread, changeIn(params)).changes)
  return { thread, cold: known === undefined }
}

/** What a cold resume may change; a running thread keeps what it has, as in codex. */
function changeIn(params: Params): SettingsChange {
  if (params.permissions != null && params.sandbox != null) {
    throw new RpcError(INVALID_REQUEST, '`permissions` cannot be combined with `sandbox`')
  }
  return {
    model: params.model ?? null,
    provider: params.modelProvider ?? null,
    cwd: params.cwd ?? null,
    workspaceRoots: params.runtimeWorkspaceRoots ?? null,
    approvalPolicy: readPolicy(params.approvalPolicy),
    permissions: params.permissions ?? null,
    sandbox: params.sandbox ? readSandboxMode(params.sandbox) : null,
    serviceTier: params.serviceTier ?? null,
    personality: params.personality ?? null,
    baseInstructions: params.baseInstructions ?? null,
    developerInstructions: params.developerInstructions ?? null,
  }
}

function resumed(engine: Engine, thread: Thread, params: Params): Result {
  const turns = thread.turns()
  const page = params.initialTurnsPage
  return {
    thread: toThread(thread.view(), params.excludeTurns ? [] : turns.map(turn => toTurn(turn, 'full'))),
    ...toSession(thread.settings, engine.instructionSources(thread)),
    collaborationMode: null,
    initialTurnsPage: page ? turnsPage(turns, page) : null,
    turnsBackwardsCursor: null,
    itemsBackwardsCursor: null,
  }
}

function tellUsage(hub: Hub, thread: Thread, session: Session): void {
  const turn = thread.turns().at(-1)
  const { usage } = thread
  if (turn && usage) hub.tell(session, { type: 'usage', threadId: thread.id, turnId: turn.id, usage })
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
