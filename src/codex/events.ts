import type { EngineEvent, ItemDelta, ThreadUsage } from '../engine/events.ts'
import type { Usage } from '../engine/models/model.ts'
import type { ConfigWarning } from '../engine/settings/warnings.ts'
import { experimentalNotifications, type ServerNotifications } from '../protocol/codex/methods.gen.ts'
import type { ConfigWarningNotification, ThreadTokenUsage, TokenUsageBreakdown } from '../protocol/codex/types.gen.ts'
import { Frame } from '../rpc/frame.ts'
import { notificationFrame } from '../rpc/message.ts'
import type { Announcement, CallIds, Outgoing } from '../server/dialect.ts'
import { toQuestion } from './approvals.ts'
import { toTurnError } from './errors.ts'
import { toItem } from './items.ts'
import { toGoal, toSettings, toStatus, toThread, toTurn } from './threads.ts'

type Method = keyof ServerNotifications

/** Renames one engine event. Everything a codex client hears comes through here. */
export function project(event: EngineEvent, calls: CallIds): Outgoing | undefined {
  switch (event.type) {
    case 'thread.started':
      return everyone('thread/started', { thread: toThread(event.thread) })
    case 'thread.status':
      return everyone('thread/status/changed', { threadId: event.threadId, status: toStatus(event.status) })
    case 'thread.closed':
      return everyone('thread/closed', { threadId: event.threadId })
    case 'thread.named':
      return everyone('thread/name/updated', { threadId: event.threadId, threadName: event.name })
    case 'thread.archived':
      return everyone('thread/archived', { threadId: event.threadId })
    case 'thread.unarchived':
      return everyone('thread/unarchived', { threadId: event.threadId })
    case 'thread.deleted':
      return everyone('thread/deleted', { threadId: event.threadId })
    case 'thread.reverted':
      return followers('thread/reverted', { threadId: event.threadId })
    case 'thread.goal': {
      const { threadId, turnId, goal } = event
      if (goal === null) return everyone('thread/goal/cleared', { threadId })
      return everyone('thread/goal/updated', { threadId, turnId, goal: toGoal(threadId, goal) })
    }
    case 'thread.queue':
      return followers('thread/queue/changed', { threadId: event.threadId })
    case 'thread.read':
      return everyone('thread/readState/changed', { threadId: event.threadId, readState: event.readState })
    case 'thread.settings':
      return followers('thread/settings/updated', {
        threadId: event.threadId,
        threadSettings: toSettings(event.settings),
      })
    case 'turn.started':
      return followers('turn/started', { threadId: event.threadId, turn: toTurn(event.turn) })
    case 'turn.completed': {
      const said = followers('turn/completed', { threadId: event.threadId, turn: toTurn(event.turn) })
      return { ...said, terminal: { turnId: event.turn.id } }
    }
    case 'turn.plan': {
      const { threadId, turnId, explanation, plan } = event
      return followers('turn/plan/updated', { threadId, turnId, explanation, plan: plan.map(step => ({ ...step })) })
    }
    case 'turn.diff':
      return followers('turn/diff/updated', { threadId: event.threadId, turnId: event.turnId, diff: event.diff })
    case 'item.started': {
      const { threadId, turnId, item, at } = event
      return followers('item/started', { item: toItem(item), threadId, turnId, startedAtMs: at })
    }
    case 'item.completed': {
      const { threadId, turnId, item, at } = event
      return followers('item/completed', { item: toItem(item), threadId, turnId, completedAtMs: at })
    }
    case 'item.delta':
      return delta(event)
    case 'usage':
      return followers('thread/tokenUsage/updated', {
        threadId: event.threadId,
        turnId: event.turnId,
        tokenUsage: toUsage(event.usage),
      })
    case 'error': {
      const { threadId, turnId, error, willRetry } = event
      const said = followers('error', { error: toTurnError(error), willRetry, threadId, turnId })
      return willRetry ? said : { ...said, terminal: { turnId } }
    }
    case 'warning': {
      const params = { threadId: event.threadId, message: event.message }
      return event.threadId === null ? everyone('warning', params) : followers('warning', params)
    }
    case 'config.warning':
      return everyone('configWarning', toConfigWarning(event.warning))
    case 'approval.requested':
      return toQuestion(event.threadId, event.ask)
    case 'approval.resolved': {
      const requestId = calls.callId(event.approvalId)
      if (requestId === undefined || event.kind === 'clientTool') return undefined
      return followers('serverRequest/resolved', { threadId: event.threadId, requestId })
    }
    default:
      return event satisfies never
  }
}

function everyone<M extends Method>(method: M, params: ServerNotifications[M]): Announcement {
  return announce(notificationFrame(method, params), 'everyone')
}

function followers<M extends Method>(method: M, params: ServerNotifications[M]): Announcement {
  return announce(notificationFrame(method, params), 'followers')
}

function announce(frame: Frame, audience: Announcement['audience']): Announcement {
  const experimental = frame.method !== null && experimentalNotifications.has(frame.method)
  return { kind: 'announcement', frame, audience, experimental, terminal: null }
}

/** The hot road: one delta of one item. */
function delta(event: ItemDelta): Announcement {
  const { threadId, turnId, itemId, part, delta } = event
  const at = { threadId, turnId, itemId }
  switch (part.type) {
    case 'text':
      return growing('item/agentMessage/delta', { ...at, delta })
    case 'plan':
      return growing('item/plan/delta', { ...at, delta })
    case 'output':
      return growing('item/commandExecution/outputDelta', { ...at, delta })
    case 'summary':
      return delta === ''
        ? followers('item/reasoning/summaryPartAdded', { ...at, summaryIndex: part.index })
        : growing('item/reasoning/summaryTextDelta', { ...at, delta, summaryIndex: part.index })
    case 'reasoning':
      return growing('item/reasoning/textDelta', { ...at, delta, contentIndex: part.index })
    default:
      return part satisfies never
  }
}

type Delta = {
  readonly itemId: string
  readonly delta: string
  readonly summaryIndex?: number
  readonly contentIndex?: number
}

/** A delta that can be joined with the next one of the same stream when a client lags. */
function growing<M extends Method>(method: M, params: ServerNotifications[M] & Delta): Announcement {
  return announce(deltaFrame(method, params), 'followers')
}

function deltaFrame(method: string, params: Delta): Frame {
  const part = params.summaryIndex ?? params.contentIndex ?? 0
  return new Frame(() => JSON.stringify({ method, params }), method, {
    key: `${method} ${params.itemId} ${part}`,
    join: next => deltaFrame(method, { ...params, delta: params.delta + deltaOf(next) }),
  })
}

/** Reads a delta back out of a frame with the same key. Only a lagging client costs this. */
const deltaOf = (frame: Frame): string => (JSON.parse(frame.bytes.toString()) as { params: Delta }).params.delta

function toConfigWarning({ summary, details, path, range }: ConfigWarning): ConfigWarningNotification {
  return { summary, details, ...(path === null ? {} : { path }), ...(range === null ? {} : { range }) }
}

export function toUsage(usage: ThreadUsage): ThreadTokenUsage {
  return {
    total: toBreakdown(usage.total),
    last: toBreakdown(usage.last),
    modelContextWindow: usage.contextWindow,
  }
}

const toBreakdown = (usage: Usage): TokenUsageBreakdown => ({
  totalTokens: usage.total,
  inputTokens: usage.input,
  cachedInputTokens: usage.cached,
  cacheWriteInputTokens: usage.cacheWrite,
  outputTokens: usage.output,
  reasoningOutputTokens: usage.reasoning,
})
