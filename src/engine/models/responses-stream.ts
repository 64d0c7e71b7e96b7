import { failed } from './failures.ts'
import { count, filled, list, object, parseEvent, text } from './fields.ts'
import { InputStream, unwrapInput } from './freeform.ts'
import type { ModelEvent, ModelFailure, ModelRequest, OutputItem, OutputStart, Usage } from './model.ts'
import { CallIds, ToolNames } from './tool-names.ts'
import type { Decoder, Target } from './wire.ts'

type Fields = Readonly<Record<string, unknown>>
type Kind = OutputStart['type']

/** An output item between its first sign of life and its end. Accumulated deltas count only where the end lacks them. */
interface Open {
  readonly index: number
  readonly kind: Kind
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

/** Reads a Responses stream. `output_item.done` is the truth about an item; everything before it may be missing. */
export class ResponsesDecoder implements Decoder {
  readonly #emit: (event: ModelEvent) => void
  readonly #issuer: string
  readonly #tools: ToolNames
  readonly #ids: CallIds
  /** By the wire's output index, or by item id where that is missing. Some servers give every item index 0. */
  readonly #open = new Map<number | string, Open>()
  readonly #closed = new Set<string>()
  #next = 0
  #over = false

  constructor(request: ModelRequest, target: Target, emit: (event: ModelEvent) => void) {
    this.#emit = emit
    this.#issuer = target.info.provider
    this.#tools = new ToolNames(request.tools)
    this.#ids = new CallIds(request.context)
  }

  data(data: string): void {
    const event = parseEvent(data)
    if (event && !this.#over) this.#read(event)
  }

  end(failure: ModelFailure | null): void {
    if (this.#over) return
    this.#finish({ type: 'error', error: failure ?? TRUNCATED })
  }

  #read(event: Fields): void {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#text(event)
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return this.#args(event)
      case 'response.reasoning_summary_text.delta':
        return this.#summary(event)
      case 'response.reasoning_text.delta':
        return this.#reasoning(event)
      case 'response.reasoning_summary_part.added':
        return this.#summaryPart(event)
      case 'response.output_item.added':
        return void this.#start(keyOf(event), object(event.item))
      case 'response.output_item.done':
        return this.#done(keyOf(event), object(event.item))
      case 'response.created':
        return this.#created(object(event.response))
      default:
        return this.#last(event)
    }
  }

  #created(response: Fields): void {
    this.#emit({ type: 'start', responseId: filled(response.id), model: filled(response.model) })
  }

  /** The events that end a response; all others mean nothing to us. */
  #last(event: Fields): void {
    const response = object(event.response)
    switch (event.type) {
      case 'response.completed':
        return this.#complete('stop', response)
      case 'response.incomplete':
        return this.#complete(
          object(response.incomplete_details).reason === 'content_filter' ? 'filter' : 'length',
          response,
        )
      case 'response.failed':
        return this.#finish({ type: 'error', error: failed(response.error) })
      case 'response.cancelled':
        return this.#finish({
          type: 'error',
          error: { kind: 'failed', code: 'cancelled', message: 'the provider cancelled the response' },
        })
      case 'error':
        return this.#finish({ type: 'error', error: failed(event) })
      default:
    }
  }

  #complete(reason: 'stop' | 'length' | 'filter', response: Fields): void {
    for (const [key, open] of this.#open) this.#close(key, open, endWithout(open))
    // Some servers stream nothing and put all they have to say into the last event.
    if (this.#next === 0) for (const [key, item] of list(response.output).entries()) this.#done(key, object(item))
    this.#finish({ type: 'finish', reason, usage: usageOf(response.usage) })
  }

  #finish(event: ModelEvent): void {
    this.#over = true
    this.#emit(event)
  }

  #text(event: Fields): void {
    const delta = text(event.delta)
    const open = delta && this.#find(event, 'text')
    if (!open) return
    open.text += delta
    this.#emit({ type: 'text', index: open.index, delta })
  }

  #args(event: Fields): void {
    const open = this.#open.get(keyOf(event))
    if (open?.kind !== 'call') return // whose arguments these are will be known at the call's end
    const raw = text(event.delta)
    open.text += raw
    const delta = open.input ? open.input.push(raw) : raw
    if (delta) this.#emit({ type: 'args', index: open.index, delta })
  }

  #summaryPart(event: Fields): void {
    const open = this.#find(event, 'reasoning')
    if (open) this.#openPart(open, count(event.summary_index))
  }

  #summary(event: Fields): void {
    const open = this.#find(event, 'reasoning')
    const delta = text(event.delta)
    if (!open || !delta) return
    const part = Math.min(count(event.summary_index), open.summary.length)
    this.#openPart(open, part)
    open.summary[part] += delta
    this.#emit({ type: 'summary', index: open.index, part, delta })
  }

  /** Parts open in order, each once, whether the server announces them or not. */
  #openPart(open: Open, part: number): void {
    if (part !== open.summary.length) return
    open.summary.push('')
    this.#emit({ type: 'summary.part', index: open.index, part })
  }

  #reasoning(event: Fields): void {
    const open = this.#find(event, 'reasoning')
    const delta = text(event.delta)
    if (!open || !delta) return
    const part = Math.min(count(event.content_index), open.content.length)
    if (part === open.content.length) open.content.push('')
    open.content[part] += delta
    this.#emit({ type: 'reasoning', index: open.index, part, delta })
  }

  /** The open item that a delta belongs to; one that was never added is started, a delta after the end is dropped. */
  #find(event: Fields, kind: 'text' | 'reasoning'): Open | undefined {
    const key = keyOf(event)
    const open = this.#open.get(key)
    if (open?.kind === kind) return open
    if (this.#closed.has(text(event.item_id))) return undefined
    const own = open ? `${kind} ${key}` : key
    return (
      this.#open.get(own) ?? this.#start(own, { type: kind === 'text' ? 'message' : 'reasoning', id: event.item_id })
    )
  }

  #start(key: number | string, added: Fields): Open {
    const before = this.#open.get(key)
    if (before) this.#close(key, before, endWithout(before))
    const item = this.#startOf(added)
    const asFunction = item.type === 'call' && added.type === 'function_call'
    const freeform = asFunction && this.#called(added).freeform
    const open: Open = {
      index: this.#next++,
      kind: item.type,
      itemId: filled(added.id),
      item,
      input: freeform ? new InputStream() : null,
      added,
      text: '',
      summary: [],
      content: [],
    }
    this.#open.set(key, open)
    this.#emit({ type: 'item.start', index: open.index, item })
    return open
  }

  #startOf(item: Fields): OutputStart {
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
          name: this.#called(item).name,
        }
      default:
        return { type: 'other' }
    }
  }

  #called(item: Fields) {
    return this.#tools.called(text(item.name), filled(item.namespace))
  }

  #done(key: number | string, item: Fields): void {
    const [known = key, before] = this.#match(key, item)
    this.#close(known, before ?? this.#start(key, item), item)
  }

  /** The open item that ends as `item`. Some servers change an item's id on the way and count no indexes. */
  #match(key: number | string, item: Fields): [key?: number | string, open?: Open] {
    const open = this.#open.get(key)
    if (open) return isSame(open, item) ? [key, open] : []
    if (typeof key === 'number') return []
    return [...this.#open].findLast(([, other]) => isSame(other, item)) ?? []
  }

  #close(key: number | string, open: Open, end: Fields): void {
    this.#open.delete(key)
    if (open.itemId !== null) this.#closed.add(open.itemId)
    this.#emit({ type: 'item.end', index: open.index, item: this.#endOf(open, end) })
  }

  #endOf(open: Open, end: Fields): OutputItem {
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

  #reasoningOf(open: Open, id: string | null, end: Fields): OutputItem {
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

  #callOf(open: Open, id: string, end: Fields): OutputItem {
    const { name, namespace, freeform } = this.#called(end)
    const custom = end.type === 'custom_tool_call'
    const raw = argsOf(custom ? end.input : end.arguments) || open.text
    const args = freeform && !custom ? unwrapInput(raw) : raw
    return { type: 'call', id, name, namespace, args, freeform: custom || freeform, opaque: {} }
  }
}

const TRUNCATED: ModelFailure = { kind: 'truncated', message: 'stream closed before response.completed' }

/** Which open item an event is about: the wire's index, else an id, else the only one there can be. */
function keyOf(event: Fields): number | string {
  const { output_index: index } = event
  if (typeof index === 'number') return index
  return filled(event.item_id) ?? filled(object(event.item).id) ?? 0
}

/** Whether the end `item` can belong to `open`: the same kind of thing and, for a call, no other call. */
function isSame({ added }: Open, item: Fields): boolean {
  if (added.type !== item.type) return false
  return added.call_id === undefined || item.call_id === undefined || added.call_id === item.call_id
}

/** The end of an item that got none: what it was when it was added, so that its deltas make up the rest. */
function endWithout(open: Open): Fields {
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

function usageOf(value: unknown): Usage | null {
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
