import { seconds } from '../base/clock.ts'
import type {
  SandboxPolicy as EngineSandbox,
  Goal,
  ThreadSettings,
  ThreadStatus,
  ThreadView,
  TurnView,
} from '../engine/events.ts'
import type {
  SandboxPolicy,
  Thread,
  ThreadGoal,
  ThreadStartResponse,
  Turn,
  TurnItemsView,
  ThreadSettings as WireSettings,
  ThreadStatus as WireStatus,
} from '../protocol/codex/types.gen.ts'
import { toTurnError } from './errors.ts'
import { toPastItem } from './items.ts'

/** A thread as every answer and notification shows it. `turns` only where the answer carries history. */
export function toThread(view: ThreadView, turns: readonly Turn[] = []): Thread {
  return {
    id: view.id,
    sessionId: view.sessionId,
    forkedFromId: view.forkedFrom,
    parentThreadId: null,
    preview: view.preview,
    ephemeral: view.ephemeral,
    modelProvider: view.provider,
    createdAt: seconds(view.createdAt),
    updatedAt: seconds(view.updatedAt),
    recencyAt: seconds(view.recencyAt),
    status: toStatus(view.status),
    path: view.path,
    cwd: view.cwd,
    cliVersion: view.cliVersion,
    // Anything else hides the thread from the pickers of both TUIs.
    source: 'vscode',
    threadSource: view.threadSource,
    agentNickname: null,
    agentRole: null,
    gitInfo: view.gitInfo,
    name: view.name,
    turns: [...turns],
    environments: null,
    extra: null,
    attachedToThreadId: null,
    section: null,
    sectionEnteredAt: null,
    projectId: null,
    // `paginated` obliges a resume to carry cursors; without them codex-acp loads an empty history.
    historyMode: 'legacy',
    model: view.model,
    reasoningEffort: view.effort,
    originator: view.originator,
    canAcceptDirectInput: true,
    daybreakEnabled: null,
  }
}

export function toStatus(status: ThreadStatus): WireStatus {
  if (status.type !== 'active') return { type: status.type }
  const activeFlags = status.waitingOn.map(what => (what === 'approval' ? 'waitingOnApproval' : 'waitingOnUserInput'))
  return { type: 'active', activeFlags: [...activeFlags] as ('waitingOnApproval' | 'waitingOnUserInput')[] }
}

/** A turn; its items only in `full` and `summary` views, notifications never carry any. */
export function toTurn(turn: TurnView, itemsView: TurnItemsView = 'notLoaded'): Turn {
  return {
    id: turn.id,
    items: itemsOf(turn, itemsView).map(toPastItem),
    itemsView,
    status: turn.status,
    error: turn.error && toTurnError(turn.error),
    startedAt: turn.startedAt === null ? null : seconds(turn.startedAt),
    completedAt: turn.completedAt === null ? null : seconds(turn.completedAt),
    durationMs: turn.durationMs,
    rootTurnId: null,
  }
}

/** `summary` is what was asked and the last thing that was answered. */
function itemsOf({ items }: TurnView, view: TurnItemsView): TurnView['items'] {
  if (view === 'notLoaded') return []
  if (view === 'full') return items
  const asked = items.find(item => item.type === 'userMessage')
  const answered = items.findLast(item => item.type === 'agentMessage')
  return [asked, answered].filter(item => item !== undefined)
}

export function toSandbox(sandbox: EngineSandbox): SandboxPolicy {
  switch (sandbox.type) {
    case 'dangerFullAccess':
      return { type: 'dangerFullAccess' }
    case 'readOnly':
      return { type: 'readOnly', networkAccess: sandbox.networkAccess }
    case 'workspaceWrite':
      return { ...sandbox, writableRoots: [...sandbox.writableRoots] }
    default:
      return sandbox satisfies never
  }
}

export function toGoal(threadId: string, goal: Goal): ThreadGoal {
  return {
    threadId,
    objective: goal.objective,
    status: goal.status,
    tokenBudget: goal.tokenBudget,
    tokensUsed: goal.tokensUsed,
    timeUsedSeconds: seconds(goal.timeUsedMs),
    createdAt: seconds(goal.createdAt),
    updatedAt: seconds(goal.updatedAt),
  }
}

/** What thread/start, resume and fork say beside the thread itself. */
export function toSession(settings: ThreadSettings, sources: readonly string[]): Omit<ThreadStartResponse, 'thread'> {
  return {
    model: settings.model,
    modelProvider: settings.provider,
    serviceTier: settings.serviceTier,
    cwd: settings.cwd,
    runtimeWorkspaceRoots: [...settings.workspaceRoots],
    instructionSources: [...sources],
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: 'user',
    sandbox: toSandbox(settings.sandbox),
    activePermissionProfile: toProfile(settings),
    reasoningEffort: settings.effort,
    multiAgentMode: 'explicitRequestOnly',
    disabledPluginIds: [],
  }
}

const toProfile = ({ permissionProfile }: ThreadSettings): ThreadStartResponse['activePermissionProfile'] =>
  permissionProfile === null ? null : { id: permissionProfile, extends: null }

export function toSettings(settings: ThreadSettings): WireSettings {
  return {
    cwd: settings.cwd,
    approvalPolicy: settings.approvalPolicy,
    approvalsReviewer: 'user',
    sandboxPolicy: toSandbox(settings.sandbox),
    activePermissionProfile: toProfile(settings),
    model: settings.model,
    modelProvider: settings.provider,
    serviceTier: settings.serviceTier,
    effort: settings.effort,
    summary: settings.summary as WireSettings['summary'],
    collaborationMode: {
      mode: settings.mode,
      settings: {
        model: settings.model,
        reasoning_effort: settings.effort,
        developer_instructions: settings.modeInstructions,
      },
    },
    multiAgentMode: 'explicitRequestOnly',
    disabledPluginIds: [],
    environments: [],
    personality: settings.personality as WireSettings['personality'],
  }
}
