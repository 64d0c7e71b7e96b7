import { isObject } from '../../src/base/json.ts'

/** A text of this machine or run, and the placeholder it becomes. */
export type Replacement = readonly [text: string, placeholder: string]

/** Makes a message comparable with one of another run. */
export type Normaliser = (message: unknown) => unknown

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi

/** Keys whose numbers are moments. */
const TIMES = new Set([
  'createdAt',
  'updatedAt',
  'recencyAt',
  'startedAt',
  'completedAt',
  'startedAtMs',
  'completedAtMs',
  'createdAtMs',
  'modifiedAtMs',
  'resetsAt',
])

/** Keys whose numbers are durations. */
const DURATIONS = new Set(['durationMs', 'timeUsedSeconds'])

/** What an id is the id of, by its key. */
const KIND_OF_KEY: Readonly<Record<string, string>> = {
  threadId: 'THREAD',
  sessionId: 'THREAD',
  forkedFromId: 'THREAD',
  parentThreadId: 'THREAD',
  reviewThreadId: 'THREAD',
  senderThreadId: 'THREAD',
  agentThreadId: 'THREAD',
  conversationId: 'THREAD',
  turnId: 'TURN',
  expectedTurnId: 'TURN',
  itemId: 'ITEM',
  processId: 'PROC',
  installationId: 'UUID',
}

/** What an `id` is the id of, by the key of the object it stands in. */
const KIND_OF_PARENT: Readonly<Record<string, string>> = {
  thread: 'THREAD',
  threads: 'THREAD',
  turn: 'TURN',
  turns: 'TURN',
  item: 'ITEM',
  items: 'ITEM',
}

/** Prompts are the server's own business, not protocol. */
const LONG_KEYS = new Set(['developer_instructions', 'text'])
const LONG = 1000

/**
 * Gives every value of this machine or run a placeholder. A value keeps its first one over the whole recording, numbered by
 * first sight: `<THREAD_1>`, `<TURN_2>`. UUIDs that begin with eight zeros are made up by scenarios and stay.
 */
export function createNormaliser(replacements: readonly Replacement[]): Normaliser {
  const names = new Names()
  const longestFirst = replacements.filter(([text]) => text !== '').sort((a, b) => b[0].length - a[0].length)
  const clean = (text: string): string => cleanText(longestFirst, names, text)

  function walk(value: unknown, parentKey: string): unknown {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(entry => walk(entry, parentKey))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => field(value, key, entry, parentKey)))
  }

  function field(owner: Record<string, unknown>, key: string, value: unknown, parentKey: string): [string, unknown] {
    if (typeof value === 'string') return [key, text(owner, key, value, parentKey)]
    if (typeof value === 'number' && TIMES.has(key)) return [key, '<TIME>']
    if (typeof value === 'number' && DURATIONS.has(key)) return [key, '<MS>']
    return [clean(key), walk(value, key)]
  }

  function text(owner: Record<string, unknown>, key: string, value: string, parentKey: string): string {
    if (value.length > LONG && LONG_KEYS.has(key)) return '<LONG_TEXT>'
    const isWholeUuid = value.match(UUID)?.[0] === value
    if (key === 'id' && isWholeUuid) return names.of(kindOfId(owner, parentKey), value)
    const kind = KIND_OF_KEY[key]
    if (kind !== undefined && (isWholeUuid || (kind === 'PROC' && /^\d+$/.test(value)))) return names.of(kind, value)
    return key === 'serverName' && owner.installationId ? '<HOST>' : clean(value)
  }

  return message => walk(message, '')
}

function kindOfId(owner: Record<string, unknown>, parentKey: string): string {
  const byParent = KIND_OF_PARENT[parentKey]
  if (byParent !== undefined) return byParent
  if (owner.sessionId) return 'THREAD'
  if (owner.itemsView) return 'TURN'
  return owner.type ? 'ITEM' : 'UUID'
}

function cleanText(replacements: readonly Replacement[], names: Names, text: string): string {
  const replaced = replacements.reduce((made, [from, to]) => made.replaceAll(from, to), text)
  return replaced
    .replace(UUID, id => names.of('UUID', id))
    .replace(/rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-/g, 'rollout-<STAMP>-')
    .replace(/sessions\/\d{4}\/\d\d\/\d\d/g, 'sessions/<YYYY>/<MM>/<DD>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '<TIME>')
    .replace(/sha256:[0-9a-f]{64}/g, hash => names.of('SHA', hash))
    .replace(/Chunk ID: [0-9a-f]+/g, 'Chunk ID: <HEX>')
    .replace(/Wall time: [\d.]+ seconds/g, 'Wall time: <SECS> seconds')
    .replace(/^([^/]*\/[0-9][^ ]*) \([^;)]*; [^)]*\) (\S+)( \(.*\))?$/, '$1 (<OS>; <ARCH>) <TERM>$3')
}

/** The placeholders given so far. */
class Names {
  readonly #byValue = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  of(kind: string, value: string): string {
    const key = value.toLowerCase()
    if (key.startsWith('00000000')) return value
    const known = this.#byValue.get(key)
    if (known !== undefined) return known
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    this.#byValue.set(key, `<${kind}_${count}>`)
    return `<${kind}_${count}>`
  }
}
