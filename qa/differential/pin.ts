import { isObject } from '../../src/base/json.ts'

/**
 * Keys that a newer pin added to what the goldens' pin knows, by the kind of object. A server may send the union of its pins,
 * so these are dropped on both sides before comparing (values: wire policy 1 of docs and the strict schemas judge them).
 */
const NEWER: Readonly<Record<string, readonly string[]>> = {
  thread: [
    'projectId',
    'section',
    'sectionEnteredAt',
    'model',
    'canAcceptDirectInput',
    'environments',
    'historyMode',
    'reasoningEffort',
    'attachedToThreadId',
    'daybreakEnabled',
    'originator',
    'extra',
  ],
  turn: ['rootTurnId'],
  turnError: ['misalignment'],
  item: ['startedAtMs', 'completedAtMs', 'moderation', 'delivery', 'questions', 'pluginId', 'scriptPath'],
  tokens: ['cacheWriteInputTokens'],
  commandApproval: ['kind'],
  session: ['disabledPluginIds', 'turnsBackwardsCursor', 'itemsBackwardsCursor', 'collaborationMode', 'serverInfo'],
  model: ['modelSpecialty', 'availableAccessPrograms', 'multiAgentVersion'],
  threadPage: ['readStates'],
  threadRead: ['readState'],
  account: ['userId', 'workspaceRouting'],
}

const has = (value: Record<string, unknown>, ...keys: readonly string[]): boolean => keys.every(key => key in value)

function kindOf(value: Record<string, unknown>): string | null {
  if (has(value, 'sessionId', 'preview')) return 'thread'
  if (has(value, 'itemsView', 'durationMs')) return 'turn'
  if (has(value, 'codexErrorInfo', 'message')) return 'turnError'
  if (has(value, 'supportedReasoningEfforts')) return 'model'
  if (has(value, 'inputTokens', 'outputTokens')) return 'tokens'
  if (has(value, 'itemId', 'commandActions', 'turnId')) return 'commandApproval'
  if (has(value, 'thread') && (has(value, 'approvalPolicy') || has(value, 'initialTurnsPage'))) return 'session'
  if (has(value, 'codexHome')) return 'session'
  if (has(value, 'requiresOpenaiAuth')) return 'account'
  if (has(value, 'data', 'nextCursor', 'backwardsCursor')) return 'threadPage'
  if (has(value, 'thread')) return 'threadRead'
  return typeof value.type === 'string' && typeof value.id === 'string' ? 'item' : null
}

/** A message as the goldens' pin would have it. */
export function trimToPin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trimToPin)
  if (!isObject(value)) return value
  const newer = NEWER[kindOf(value) ?? ''] ?? []
  const kept = Object.entries(estimated(value)).filter(([key]) => !newer.includes(key))
  return Object.fromEntries(kept.map(([key, entry]) => [key, trimToPin(entry)]))
}

/** A thread that was taken up again reports an estimate beside zero in and out: it depends on the server's prompt. */
function estimated(value: Record<string, unknown>): Record<string, unknown> {
  const { inputTokens, outputTokens, totalTokens } = value
  const isEstimate = inputTokens === 0 && outputTokens === 0 && Number(totalTokens) > 0
  return isEstimate ? { ...value, totalTokens: '<ESTIMATE>' } : value
}
