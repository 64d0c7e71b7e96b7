import { count, filled, list, object, text } from './fields.ts'
import { type InputStream, unwrapInput } from './freeform.ts'
import type { ModelRequest, OutputItem, OutputStart, Usage } from './model.ts'
import { type Called, CallIds, ToolNames } from './tool-names.ts'
import type { Target } from './wire.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An output item between its first sign of life and its end. Accumulated deltas count only where the end lacks them. */
export interface OpenItem {
  readonly index: number
  readonly itemId: string | null
  readonly item: OutputStart
  /** Set for a freeform tool called as a function: its deltas are JSON. */
  readonly input: InputStream | null
  /** The item as it was added: a call is finished from it when its end never comes. */
  readonly added: Fields
  text: string
  readonly summary: string[]
  readonly content: string[]
}

/** Turns the output items of the Responses API into ours. */
export class ResponsesItems {
  readonly #issuer: string
  readonly #tools: ToolNames
  readonly #ids: CallIds

  constructor(request: ModelRequest, target: Target) {
    this.#issuer = target.info.provider
    this.#tools = new ToolNames(request.tools)
    this.#ids = new CallIds(request.context)
  }

  /** What can be said of an item when it starts. Each call of this claims a call id. */
  start(item: Fields): OutputStart {
    switch (item.type) {
      case 'message':
        return { type: 'text', id: filled(item.id), phase: filled(item.phase) }
      case 'reasoning':
        return { type: 'reasoning', id: filled(item.id) }
      case 'function_call':
      case 'custom_tool_call':
        return {
          type: 'call',
          id: this.#ids.claim(filled(item.call_id) ?? filled(item.id)),
          name: this.called(item).name,
        }
      default:
        return { type: 'other' }
    }
  }

  /** What a call means; only calls have a name. */
  called(item: Fields): Called {
    return this.#tools.called(text(item.name), filled(item.namespace))
  }

  /** The whole item, from its end and what came before. */
  end(open: OpenItem, end: Fields): OutputItem {
    switch (open.item.type) {
      case 'text':
        return {
          type: 'text',
          id: open.item.id ?? filled(end.id),
          text: textOf(end.content) || open.text,
          phase: filled(end.phase) ?? open.item.phase,
        }
      case 'reasoning':
        return this.#reasoningOf(open, open.item.id ?? filled(end.id), end)
      case 'call':
        return this.#callOf(open, open.item.id, end)
      case 'other':
        return { type: 'other', raw: end }
      default:
        return open.item satisfies never
    }
  }

  #reasoningOf(open: OpenItem, id: string | null, end: Fields): OutputItem {
    const summary = partsOf(end.summary) ?? open.summary
    const content = partsOf(end.content) ?? open.content
    const encrypted = filled(end.encrypted_content)
    const own = {
      issuer: this.#issuer,
      summary: summary.map(part => ({ type: 'summary_text', text: part })),
      ...(content.length > 0 && { content: content.map(part => ({ type: 'reasoning_text', text: part })) }),
      ...(encrypted !== null && { encrypted_content: encrypted }),
    }
    return { type: 'reasoning', id, summary, content, opaque: { responses: own } }
  }

  #callOf(open: OpenItem, id: string, end: Fields): OutputItem {
    const { name, namespace, freeform } = this.called(filled(end.name) === null ? open.added : end)
    const custom = end.type === 'custom_tool_call'
    const raw = argsOf(custom ? end.input : end.arguments) || open.text
    const args = freeform && !custom ? unwrapInput(raw) : raw
    return { type: 'call', id, name, namespace, args, freeform: custom || freeform, opaque: {} }
  }
}

/** The end of an item that got none: what it was when it was added, so that its deltas make up the rest. */
export function endWithout(open: OpenItem): Fields {
  const { added } = open
  if (open.text === '') return added
  return { ...added, content: [], arguments: '', input: '' }
}

/** The text of a message's parts, refusals included. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return text(content)
  return list(content)
    .map(part => text(object(part).text) || text(object(part).refusal))
    .join('')
}

/** The texts of a list of parts; undefined when there are none to tell. */
function partsOf(parts: unknown): string[] | undefined {
  const texts = list(parts).map(part => text(object(part).text))
  return texts.length > 0 ? texts : undefined
}

/** Arguments as raw text; some servers send them parsed. */
const argsOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : text(value)

/** The usage of a finished response; null when the server reports none. */
export function usageOf(value: unknown): Usage | null {
  if (typeof value !== 'object' || value === null) return null
  const usage = object(value)
  const input = count(usage.input_tokens)
  const output = count(usage.output_tokens)
  return {
    input,
    cached: count(object(usage.input_tokens_details).cached_tokens),
    cacheWrite: count(object(usage.input_tokens_details).cache_write_tokens),
    output,
    reasoning: count(object(usage.output_tokens_details).reasoning_tokens),
    total: count(usage.total_tokens) || input + output,
  }
}
