import type { Logger } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { EngineError } from '../engine/errors.ts'
import type { ClientRequests } from '../protocol/codex/methods.gen.ts'
import { clientRequests } from '../protocol/codex/methods.gen.ts'
import { checkParams } from '../protocol/codex/params.ts'
import { INVALID_REQUEST, METHOD_NOT_FOUND, RpcError } from '../rpc/error.ts'
import type { Method, Methods } from '../rpc/methods.ts'
import type { Admitted, Call } from '../server/dialect.ts'
import type { Hub } from '../server/hub.ts'
import type { Session } from '../server/session.ts'
import { checkCapability } from './capability.ts'
import type { Rows } from './dialect.ts'
import { toRpcError } from './errors.ts'
import { project } from './events.ts'
import { accountMethods } from './methods/account.ts'
import { archiveMethods } from './methods/archive.ts'
import { configMethods } from './methods/config.ts'
import { factMethods } from './methods/facts.ts'
import { forkMethods } from './methods/fork.ts'
import { goalMethods } from './methods/goal.ts'
import { historyMethods } from './methods/history.ts'
import { modelMethods } from './methods/model.ts'
import { queueMethods } from './methods/queue.ts'
import { resumeMethods } from './methods/resume.ts'
import { rollbackMethods } from './methods/rollback.ts'
import { searchMethods } from './methods/search.ts'
import { settingsMethods } from './methods/settings.ts'
import { stubMethods } from './methods/stubs.ts'
import { threadMethods } from './methods/thread.ts'
import { turnMethods } from './methods/turn.ts'
import { RemoteControl } from './remote-control.ts'

export interface RowsOptions {
  readonly engine: Engine
  readonly hub: Hub
  readonly home: string
  readonly log: Logger
}

/** Every method a codex client may call. */
export function methodTable({ engine, hub, home }: RowsOptions): Methods<ClientRequests, Call> {
  return {
    ...threadMethods(engine, hub),
    ...resumeMethods(engine, hub),
    ...forkMethods(engine, hub),
    ...archiveMethods(engine),
    ...rollbackMethods(engine),
    ...factMethods(engine),
    ...goalMethods(engine),
    ...queueMethods(engine),
    ...searchMethods(engine),
    ...historyMethods(engine),
    ...settingsMethods(engine),
    ...turnMethods(engine),
    ...modelMethods(engine),
    ...accountMethods(engine),
    ...configMethods(engine),
    ...stubMethods(engine, new RemoteControl(home)),
  }
}

/** Puts the table to work: finds, validates and gates a request in codex's order. */
export function createRows(options: RowsOptions): Rows {
  const { engine, hub, home, log } = options
  const table = methodTable(options) as Readonly<Record<string, Method<unknown, unknown, Call> | undefined>>
  const remote = new RemoteControl(home)
  return {
    project,
    admit: (request, session) => admit(table, request, session),
    failure: error => {
      if (!(error instanceof EngineError))
        log.error(error instanceof Error ? (error.stack ?? error.message) : String(error))
      return toRpcError(error)
    },
    welcome: session => {
      if (session.experimental) session.post(remote.frame())
      for (const warning of engine.configWarnings()) hub.tell(session, warning)
    },
  }
}

function admit(
  table: Readonly<Record<string, Method<unknown, unknown, Call> | undefined>>,
  { method, params }: { readonly method: string; readonly params: unknown },
  session: Session,
): Admitted {
  const spec = clientRequests.get(method)
  if (!spec) throw unknown(method)
  const wrong = checkParams(method, params)
  if (wrong !== null) throw new RpcError(INVALID_REQUEST, `Invalid request: ${wrong}`)
  const fields = (params ?? {}) as Readonly<Record<string, unknown>>
  if (!session.experimental) checkCapability(method, spec.experimental, fields)
  const row = Object.hasOwn(table, method) ? table[method] : undefined
  if (!row) throw unknown(method)
  const thread = spec.threadLane && fields[spec.threadLane]
  return { lane: laneOf(row, fields, typeof thread === 'string' ? thread : null), handle: cx => row.handle(fields, cx) }
}

function laneOf(row: Method<unknown, unknown, Call>, params: unknown, thread: string | null): string | null {
  if (row.lane === 'none') return null
  if (row.lane) return row.lane(params)
  return thread === null ? null : `thread:${thread.toLowerCase()}`
}

const unknown = (method: string): RpcError => new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`)
