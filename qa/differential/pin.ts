import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../src/base/json.ts'

const VENDORED = join(import.meta.dirname, '../../protocol-vendored/codex')

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly enum?: readonly string[] }>>
  readonly oneOf?: readonly Schema[]
}

type Definitions = Readonly<Record<string, Schema>>

const read = (version: string): Definitions =>
  JSON.parse(readFileSync(join(VENDORED, version, 'experimental.schema.json'), 'utf8')) as Definitions

/**
 * Keys that the newer pin has and the goldens' pin has not, by type; for items by `ThreadItem TYPE`. A server may send the
 * union of its pins, so these are dropped on both sides before comparing; the strict schemas judge them.
 */
function newerKeys(): ReadonlyMap<string, ReadonlySet<string>> {
  const golden = read('0.142.5')
  const newer = read('0.171.0')
  const added = new Map<string, ReadonlySet<string>>()
  for (const type of TYPES) added.set(type, difference(newer[type], golden[type]))
  for (const variant of newer.ThreadItem?.oneOf ?? []) {
    const type = itemType(variant)
    const known = golden.ThreadItem?.oneOf?.find(other => itemType(other) === type)
    added.set(`ThreadItem ${type}`, difference(variant, known))
  }
  return added
}

const TYPES = [
  'CommandExecutionRequestApprovalParams',
  'Config',
  'ConfigRequirements',
  'GetAccountResponse',
  'InitializeResponse',
  'McpServerStatus',
  'Model',
  'Thread',
  'ThreadForkResponse',
  'ThreadListResponse',
  'ThreadReadResponse',
  'ThreadResumeResponse',
  'ThreadSettings',
  'ThreadStartResponse',
  'TokenUsageBreakdown',
  'Turn',
  'TurnError',
] as const

type TypeName = (typeof TYPES)[number]

/** Ours alone: clients that know no such key do not look. */
const OURS = new Map<string, readonly string[]>([['InitializeResponse', ['serverInfo']]])

const itemType = (schema: Schema): string => schema.properties?.type?.enum?.[0] ?? ''

function difference(newer: Schema | undefined, golden: Schema | undefined): ReadonlySet<string> {
  const known = Object.keys(golden?.properties ?? {})
  return new Set(Object.keys(newer?.properties ?? {}).filter(key => !known.includes(key)))
}

const NEWER = newerKeys()

const has = (value: Record<string, unknown>, ...keys: readonly string[]): boolean => keys.every(key => key in value)

/** The types an object may have, told by the keys that only they have. */
function typesOf(value: Record<string, unknown>): readonly (TypeName | `ThreadItem ${string}`)[] {
  if (has(value, 'sessionId', 'preview')) return ['Thread']
  if (has(value, 'itemsView', 'durationMs')) return ['Turn']
  if (has(value, 'codexErrorInfo', 'message')) return ['TurnError']
  if (has(value, 'supportedReasoningEfforts')) return ['Model']
  if (has(value, 'inputTokens', 'outputTokens')) return ['TokenUsageBreakdown']
  if (has(value, 'itemId', 'commandActions', 'turnId')) return ['CommandExecutionRequestApprovalParams']
  if (has(value, 'thread', 'approvalPolicy')) {
    return ['ThreadStartResponse', 'ThreadResumeResponse', 'ThreadForkResponse']
  }
  if (has(value, 'sandboxPolicy', 'collaborationMode')) return ['ThreadSettings']
  if (has(value, 'authStatus', 'tools')) return ['McpServerStatus']
  if (has(value, 'codexHome')) return ['InitializeResponse']
  if (has(value, 'requiresOpenaiAuth')) return ['GetAccountResponse']
  if (has(value, 'model_provider', 'approval_policy')) return ['Config']
  if (has(value, 'data', 'nextCursor', 'backwardsCursor')) return ['ThreadListResponse']
  if (has(value, 'thread')) return ['ThreadReadResponse']
  return typeof value.type === 'string' && typeof value.id === 'string' ? [`ThreadItem ${value.type}`] : []
}

/** A message as the goldens' pin would have it. */
export function trimToPin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(trimToPin)
  if (!isObject(value)) return value
  const types = typesOf(value)
  const isNewer = (key: string): boolean =>
    types.some(type => NEWER.get(type)?.has(key) || OURS.get(type)?.includes(key))
  const kept = Object.entries(estimated(value)).filter(([key]) => !isNewer(key))
  return Object.fromEntries(kept.map(([key, entry]) => [key, trimToPin(entry)]))
}

/** A thread that was taken up again reports an estimate beside zero in and out: it depends on the server's prompt. */
function estimated(value: Record<string, unknown>): Record<string, unknown> {
  const { inputTokens, outputTokens, totalTokens } = value
  const isEstimate = inputTokens === 0 && outputTokens === 0 && Number(totalTokens) > 0
  return isEstimate ? { ...value, totalTokens: '<ESTIMATE>' } : value
}
