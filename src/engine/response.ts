import type { AgentMessage, DeltaPart, Item } from './items.ts'
import type { ModelEvent, ModelFailure, Opaque, OutputItem, OutputStart, Usage } from './models/model.ts'

export type OutputCall = Extract<OutputItem, { type: 'call' }>

/** Where a response's items go. */
export interface ItemRoad {
  /** `wanted`, or a new id when the thread already has an item of that name or the model gave none. */
  claimId(wanted: string | null): string
  start(item: Item): void
  delta(itemId: string, part: DeltaPart, delta: string): void
  /** `context`: whether later requests show this item to the model. */
  complete(item: Item, about: { readonly context: boolean; readonly opaque?: Opaque }): void
}

type OpenItem =
  | { readonly type: 'text'; readonly id: string; readonly phase: AgentMessage['phase']; text: string }
  | { readonly type: 'reasoning'; readonly id: string; readonly summary: string[]; readonly content: string[] }

/**
 * One model response becoming items. Text and reasoning start and grow as they come; `item.end` is the truth about each;
 * tool calls are only collected, because none may run before the response has ended well.
 */
export class Response {
  readonly calls: OutputCall[] = []
  failure: ModelFailure | null = null
  usage: Usage | null = null
  reason: 'stop' | 'length' | 'filter' | null = null
  readonly #road: ItemRoad
  readonly #open = new Map<number, OpenItem>()

  constructor(road: ItemRoad) {
    this.#road = road
  }

  on(event: ModelEvent): void {
    switch (event.type) {
      case 'start':
      case 'args':
        return
      case 'item.start':
        return void this.#begin(event.index, event.item)
      case 'text':
        return this.#text(event.index, event.delta)
      case 'summary.part':
        return this.#part(event.index, 'summary', event.part)
      case 'summary':
      case 'reasoning':
        return this.#reason(event)
      case 'item.end':
        return this.#end(event.index, event.item)
      case 'finish':
        this.reason = event.reason
        this.usage = event.usage
        return this.close(true)
      case 'error':
        this.failure = event.error
        return
      default:
        event satisfies never
    }
  }

  /** Whether a person has seen anything of this response. */
  get hasOutput(): boolean {
    return this.#open.size > 0
  }

  /** Completes what is still open with what came so far: every item that started completes. */
  close(context: boolean): void {
    for (const open of this.#open.values()) {
      // Half a thought without its signature is of no use to any model.
      this.#road.complete(finished(open), { context: context && open.type === 'text' && open.text !== '' })
    }
    this.#open.clear()
  }

  #begin(index: number, start: OutputStart): OpenItem | undefined {
    const known = this.#open.get(index)
    if (known) return known
    if (start.type !== 'text' && start.type !== 'reasoning') return undefined
    const id = this.#road.claimId(start.id)
    const open: OpenItem =
      start.type === 'text'
        ? { type: 'text', id, phase: phaseOf(start.phase), text: '' }
        : { type: 'reasoning', id, summary: [], content: [] }
    this.#open.set(index, open)
    this.#road.start(finished(open))
    return open
  }

  #text(index: number, delta: string): void {
    const open = this.#begin(index, { type: 'text', id: null, phase: null })
    if (open?.type !== 'text') return
    open.text += delta
    this.#road.delta(open.id, { type: 'text' }, delta)
  }

  #part(index: number, kind: 'summary', part: number): void {
    const open = this.#begin(index, { type: 'reasoning', id: null })
    if (open?.type !== 'reasoning') return
    open.summary[part] ??= ''
    this.#road.delta(open.id, { type: kind, index: part }, '')
  }

  #reason(event: Extract<ModelEvent, { type: 'summary' | 'reasoning' }>): void {
    const open = this.#begin(event.index, { type: 'reasoning', id: null })
    if (open?.type !== 'reasoning') return
    const parts = event.type === 'summary' ? open.summary : open.content
    parts[event.part] = (parts[event.part] ?? '') + event.delta
    this.#road.delta(open.id, { type: event.type, index: event.part }, event.delta)
  }

  #end(index: number, item: OutputItem): void {
    if (item.type === 'call') return void this.calls.push(item)
    if (item.type === 'other') return
    const open = this.#begin(index, item.type === 'text' ? item : { type: 'reasoning', id: item.id })
    if (!open) return
    this.#open.delete(index)
    if (item.type === 'text' && open.type === 'text') {
      const text = item.text === '' ? open.text : item.text
      const phase = phaseOf(item.phase) ?? open.phase
      this.#road.complete({ type: 'agentMessage', id: open.id, text, phase }, { context: true })
    } else if (item.type === 'reasoning' && open.type === 'reasoning') {
      const summary = item.summary.length > 0 ? item.summary : dense(open.summary)
      const content = item.content.length > 0 ? item.content : dense(open.content)
      const done: Item = { type: 'reasoning', id: open.id, summary, content }
      this.#road.complete(done, { context: true, opaque: item.opaque })
    }
  }
}

function finished(open: OpenItem): Item {
  if (open.type === 'text') return { type: 'agentMessage', id: open.id, text: open.text, phase: open.phase }
  return { type: 'reasoning', id: open.id, summary: dense(open.summary), content: dense(open.content) }
}

/** A model may skip part numbers; a list on the wire may not have holes. */
const dense = (parts: readonly string[]): string[] => Array.from(parts, part => part ?? '')

function phaseOf(phase: string | null): AgentMessage['phase'] {
  if (phase === 'final_answer') return 'finalAnswer'
  return phase === 'commentary' ? 'commentary' : null
}
