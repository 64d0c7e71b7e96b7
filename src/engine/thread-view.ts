import type { ThreadSettings, ThreadStatus, ThreadView } from './events.ts'
import type { History } from './history.ts'
import type { Header } from './store/records.ts'

/** A thread as lists show it, from its history and what holds right now. */
export function viewOf(
  history: History,
  header: Header,
  now: {
    readonly status: ThreadStatus
    readonly path: string | null
    readonly ephemeral: boolean
    readonly settings: ThreadSettings
    readonly updatedAt: number
  },
): ThreadView {
  const { settings } = now
  return {
    id: header.id,
    sessionId: header.sessionId,
    forkedFrom: header.forkedFrom,
    preview: history.preview,
    name: history.name,
    ephemeral: now.ephemeral,
    provider: settings.provider,
    model: settings.model,
    effort: settings.effort,
    createdAt: header.createdAt,
    updatedAt: now.updatedAt,
    recencyAt: now.updatedAt,
    status: now.status,
    path: now.path,
    cwd: settings.cwd,
    cliVersion: header.cliVersion,
    originator: header.originator,
    source: header.source,
    threadSource: header.threadSource,
    gitInfo: history.gitInfo,
    readState: history.readState,
  }
}
