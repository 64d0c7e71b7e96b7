import { newId } from '../base/ids.ts'
import { isObject } from '../base/json.ts'
import type { Input } from '../engine/items.ts'
import type { ContextEntry, Part } from '../engine/models/model.ts'
import type { Entry } from '../engine/store/records.ts'
import { INVALID_REQUEST, RpcError } from '../rpc/error.ts'

type Raw = Readonly<Record<string, unknown>>

/** Fields without which codex takes an item for none. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  message: ['role', 'content'],
  reasoning: ['summary'],
  function_call: ['name', 'arguments', 'call_id'],
  function_call_output: ['call_id', 'output'],
  custom_tool_call: ['call_id', 'name', 'input'],
  custom_tool_call_output: ['call_id', 'output'],
}

/** What clients put into a model's context, in the engine's words; throws in codex's words on what is no item. */
export function readResponseItems(items: readonly unknown[]): readonly ContextEntry[] {
  if (items.length === 0) throw new RpcError(INVALID_REQUEST, 'items must not be empty')
  const names = new Map<string, string>()
  return items.flatMap((item, at) => {
    const wrong = faultOf(item)
    if (wrong) throw new RpcError(INVALID_REQUEST, `items[${at}] is not a valid response item: ${wrong}`)
    return entriesOf(item as Raw, names)
  })
}

function faultOf(item: unknown): string | null {
  if (!isObject(item)) return `invalid type: ${item === null ? 'null' : typeof item}, expected a response item`
  if (item.type === undefined) return 'missing field `type`'
  if (typeof item.type !== 'string') return 'invalid type: expected a string as `type`'
  const missing = Object.hasOwn(REQUIRED, item.type) && REQUIRED[item.type]?.find(field => item[field] === undefined)
  return missing ? `missing field \`${missing}\`` : null
}

/** Items of kinds that no wire of ours can carry are passed over, as codex does with kinds it does not know. */
function entriesOf(item: Raw, names: Map<string, string>): readonly ContextEntry[] {
  switch (item.type) {
    case 'message':
      return messageOf(item)
    case 'reasoning':
      return [{ type: 'reasoning', text: textsOf(item.summary).join('\n\n'), opaque: {} }]
    case 'function_call':
    case 'custom_tool_call': {
      const [id, name] = [text(item.call_id), text(item.name)]
      names.set(id, name)
      const freeform = item.type === 'custom_tool_call'
      const namespace = typeof item.namespace === 'string' ? item.namespace : null
      return [
        { type: 'call', id, name, namespace, args: text(freeform ? item.input : item.arguments), freeform, opaque: {} },
      ]
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const id = text(item.call_id)
      const freeform = item.type === 'custom_tool_call_output'
      return [
        {
          type: 'result',
          id,
          name: names.get(id) ?? text(item.name),
          freeform,
          parts: partsOf(item.output),
          isError: false,
        },
      ]
    }
    default:
      return []
  }
}

function messageOf({ role, content, id, phase }: Raw): readonly ContextEntry[] {
  const parts = partsOf(content)
  if (role !== 'assistant') return [{ type: 'message', role: role === 'user' ? 'user' : 'developer', parts }]
  const said = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
  return [
    {
      type: 'text',
      text: said,
      id: typeof id === 'string' ? id : null,
      phase: typeof phase === 'string' ? phase : null,
    },
  ]
}

/** Content is a text or a list of typed pieces; what is neither text nor a picture with an address is passed over. */
function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).flatMap((piece): Part[] => {
    if (typeof piece.text === 'string') return [{ type: 'text', text: piece.text }]
    if (typeof piece.image_url !== 'string') return []
    const detail = typeof piece.detail === 'string' ? { detail: piece.detail } : {}
    return [{ type: 'image', url: piece.image_url, ...detail }]
  })
}

const textsOf = (parts: unknown): readonly string[] =>
  Array.isArray(parts) ? parts.filter(isObject).map(part => text(part.text)) : []

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * A past that a client brings along, as the records of turns: each message of the user begins one. `now` is the time of
 * everything in it: nobody knows a better one.
 */
export function recordsOf(items: readonly unknown[], now: number): readonly Entry[] {
  const records: Entry[] = []
  let turn: string | null = null
  const end = (): void => {
    if (turn === null) return
    records.push({ t: 'end', turn, status: 'completed', error: null, completedAt: now, durationMs: 0 })
    turn = null
  }
  for (const entry of readResponseItems(items)) {
    if (entry.type === 'message' && entry.role === 'user' && !isSurroundings(entry.parts)) {
      end()
      turn = newId()
      records.push({ t: 'turn', turn, startedAt: now })
      const content = entry.parts.map(toInput)
      records.push(itemOf(turn, { type: 'userMessage', id: newId(), clientId: null, content }, now))
    } else if (entry.type === 'text' && turn !== null) {
      const phase = entry.phase === 'commentary' ? 'commentary' : entry.phase === 'final_answer' ? 'finalAnswer' : null
      records.push(itemOf(turn, { type: 'agentMessage', id: newId(), text: entry.text, phase }, now))
    } else records.push({ t: 'context', turn, entry })
  }
  end()
  return records
}

const itemOf = (turn: string, item: Extract<Entry, { t: 'item' }>['item'], at: number): Entry => ({
  t: 'item',
  turn,
  item,
  startedAt: at,
  completedAt: at,
  context: true,
})

const toInput = (part: Part): Input =>
  part.type === 'text'
    ? { type: 'text', text: part.text, elements: [] }
    : { type: 'image', url: part.url, ...(part.detail ? { detail: part.detail } : {}) }

/** Clients of codex send along, as a user's message, what it told the model of folder and instructions. */
const isSurroundings = (parts: readonly Part[]): boolean =>
  parts[0]?.type === 'text' &&
  /^<(environment_context|user_instructions|INSTRUCTIONS|turn_aborted)>/.test(parts[0].text)
