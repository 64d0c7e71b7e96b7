import { failed } from './failures.ts'
import { count, filled, list, object, parseEvent, text } from './fields.ts'
import { InputStream } from './freeform.ts'
import type { ModelEvent, ModelFailure, ModelRequest } from './model.ts'
import { endWithout, type Fields, type OpenItem, ResponsesItems, usageOf } from './responses-items.ts'
import type { Decoder, Target } from './wire.ts'

/** Reads a Responses stream. `output_item.done` is the truth about an item; everything before it may be missing. */
export class ResponsesDecoder implements Decoder {
  readonly #emit: (event: ModelEvent) => void
  readonly #items: ResponsesItems
  /** By the wire's output index, or by item id where that is missing. Some servers give every item index 0. */
  readonly #open = new Map<number | string, OpenItem>()
  readonly #closed = new Set<string>()
  #next = 0
  #over = false

  constructor(request: ModelRequest, target: Target, emit: (event: ModelEvent) => void) {
    this.#emit = emit
    this.#items = new ResponsesItems(request, target)
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
    if (open?.item.type !== 'call') return // whose arguments these are will be known at the call's end
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
  #openPart(open: OpenItem, part: number): void {
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
  #find(event: Fields, kind: 'text' | 'reasoning'): OpenItem | undefined {
    const key = keyOf(event)
    const open = this.#open.get(key)
    if (open?.item.type === kind) return open
    if (this.#closed.has(text(event.item_id))) return undefined
    const own = open ? `${kind} ${key}` : key
    return (
      this.#open.get(own) ?? this.#start(own, { type: kind === 'text' ? 'message' : 'reasoning', id: event.item_id })
    )
  }

  #start(key: number | string, added: Fields): OpenItem {
    const before = this.#open.get(key)
    if (before) this.#close(key, before, endWithout(before))
    const item = this.#items.start(added)
    const asFunction = item.type === 'call' && added.type === 'function_call'
    const freeform = asFunction && this.#items.called(added).freeform
    const open: OpenItem = {
      index: this.#next++,
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

  #done(key: number | string, item: Fields): void {
    const [known = key, before] = this.#match(key, item)
    this.#close(known, before ?? this.#start(key, item), item)
  }

  /** The open item that ends as `item`. Some servers change an item's id on the way and count no indexes. */
  #match(key: number | string, item: Fields): [key?: number | string, open?: OpenItem] {
    const open = this.#open.get(key)
    if (open) return isSame(open, item) ? [key, open] : []
    if (typeof key === 'number') return []
    return [...this.#open].findLast(([, other]) => isSame(other, item)) ?? []
  }

  #close(key: number | string, open: OpenItem, end: Fields): void {
    this.#open.delete(key)
    if (open.itemId !== null) this.#closed.add(open.itemId)
    this.#emit({ type: 'item.end', index: open.index, item: this.#items.end(open, end) })
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
function isSame({ added }: OpenItem, item: Fields): boolean {
  if (added.type !== item.type) return false
  return added.call_id === undefined || item.call_id === undefined || added.call_id === item.call_id
}
