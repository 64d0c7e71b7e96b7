import { failed } from './failures.ts'
import { count, filled, list, object, parseEvent, text } from './fields.ts'
import { InputStream, unwrapInput } from './freeform.ts'
import type { ModelEvent, ModelFailure, ModelRequest, Usage } from './model.ts'
import { ReasoningDetails } from './reasoning-details.ts'
import { type Called, CallIds, ToolNames } from './tool-names.ts'
import { WholeText } from './whole-text.ts'
import type { Decoder, Target } from './wire.ts'

type Fields = Readonly<Record<string, unknown>>

/** A call while its pieces come in. Its item starts when its name is known; arguments that came before are held. */
interface Call {
  readonly slot: unknown
  readonly wireId: string | null
  readonly index: number
  readonly id: string
  called: Called | null
  input: InputStream | null
  readonly whole: WholeText
  args: string
  opaque: Fields
}

/** Text or reasoning in progress; only one at a time, in the order in which the model speaks. */
interface Span {
  readonly kind: 'text' | 'reasoning'
  readonly index: number
  readonly whole: WholeText
  text: string
}

/** Reads a Chat Completions stream in all the dialects that servers speak. The end is a `finish_reason`, `[DONE]` or not. */
export class ChatDecoder implements Decoder {
  readonly #emit: (event: ModelEvent) => void
  readonly #issuer: string
  readonly #tools: ToolNames
  readonly #ids: CallIds
  readonly #calls: Call[] = []
  readonly #details = new ReasoningDetails()
  #span: Span | undefined
  #thoughts: 'reasoning_content' | 'reasoning' = 'reasoning_content'
  #next = 0
  #started = false
  #over = false
  #reason: string | undefined
  #usage: Usage | null = null

  constructor(request: ModelRequest, target: Target, emit: (event: ModelEvent) => void) {
    this.#emit = emit
    this.#issuer = target.info.provider
    this.#tools = new ToolNames(request.tools)
    this.#ids = new CallIds(request.context)
  }

  data(data: string): void {
    if (this.#over) return
    if (data === '[DONE]') return this.end(null)
    const chunk = parseEvent(data)
    if (chunk) this.#chunk(chunk)
  }

  /** A stream that broke after its `finish_reason` has said all it had to say. */
  end(failure: ModelFailure | null): void {
    if (this.#over) return
    if (this.#reason === undefined || failure?.kind === 'aborted') return this.#fail(failure ?? TRUNCATED)
    if (this.#reason === 'error')
      return this.#fail(failed({ message: 'the provider ended the response with an error' }))
    this.#over = true
    this.#closeSpan()
    for (const call of this.#calls) this.#endCall(call)
    this.#emit({ type: 'finish', reason: reasonOf(this.#reason), usage: this.#usage })
  }

  #fail(error: ModelFailure): void {
    this.#over = true
    this.#emit({ type: 'error', error })
  }

  #chunk(chunk: Fields): void {
    // vLLM's errors have no `error` around them.
    if (chunk.error || chunk.object === 'error') return this.#fail(failed(chunk.error || chunk))
    if (!this.#started && filled(chunk.id) !== null) this.#start(chunk)
    if (chunk.usage) this.#usage = usageOf(object(chunk.usage))
    const choice = object(list(chunk.choices)[0])
    const delta = object(choice.delta ?? choice.message)
    this.#think(delta)
    this.#say(contentOf(delta.content) || raw(delta.refusal))
    for (const piece of list(delta.tool_calls)) if (isPiece(object(piece))) this.#call(object(piece))
    this.#reason = filled(choice.finish_reason) ?? this.#reason
  }

  #start(chunk: Fields): void {
    this.#started = true
    this.#emit({ type: 'start', responseId: filled(chunk.id), model: filled(chunk.model) })
  }

  #think(delta: Fields): void {
    const content = raw(delta.reasoning_content)
    const thought = content || raw(delta.reasoning)
    const details = list(delta.reasoning_details)
    if (thought === '' && details.length === 0) return
    const span = this.#openSpan('reasoning')
    this.#details.add(details)
    if (thought === '') return
    this.#thoughts = content === '' ? 'reasoning' : 'reasoning_content'
    const shown = span.whole.push(thought)
    span.text += shown
    if (shown !== '') this.#emit({ type: 'reasoning', index: span.index, part: 0, delta: shown })
  }

  #say(piece: string): void {
    if (piece === '') return
    const span = this.#openSpan('text')
    const delta = span.whole.push(piece)
    span.text += delta
    if (delta !== '') this.#emit({ type: 'text', index: span.index, delta })
  }

  #openSpan(kind: 'text' | 'reasoning'): Span {
    if (this.#span?.kind === kind) return this.#span
    this.#closeSpan()
    this.#span = { kind, index: this.#next++, whole: new WholeText(), text: '' }
    const item =
      kind === 'text' ? ({ type: 'text', id: null, phase: null } as const) : ({ type: 'reasoning', id: null } as const)
    this.#emit({ type: 'item.start', index: this.#span.index, item })
    return this.#span
  }

  #closeSpan(): void {
    const span = this.#span
    this.#span = undefined
    if (!span) return
    const { index } = span
    if (span.kind === 'text') {
      return this.#emit({ type: 'item.end', index, item: { type: 'text', id: null, text: span.text, phase: null } })
    }
    const details = this.#details.take()
    const chat = {
      issuer: this.#issuer,
      ...(span.text !== '' && { [this.#thoughts]: span.text }),
      ...(details.length > 0 && { reasoning_details: details }),
    }
    const content = span.text === '' ? [] : [span.text]
    this.#emit({
      type: 'item.end',
      index,
      item: { type: 'reasoning', id: null, summary: [], content, opaque: { chat } },
    })
  }

  #call(piece: Fields): void {
    const { name, arguments: args } = object(piece.function)
    const written = typeof args === 'object' && args !== null ? JSON.stringify(args) : raw(args)
    const call = this.#find(piece, filled(name), written) ?? this.#open(piece)
    if (filled(name) !== null && !call.called) this.#name(call, text(name))
    if (piece.extra_content !== undefined) call.opaque = { issuer: this.#issuer, extra_content: piece.extra_content }
    if (written === '') return
    const delta = call.whole.push(written)
    call.args += delta
    if (call.called) this.#giveArgs(call, delta)
  }

  /**
   * The call that a piece continues. Pieces name a slot, an id, both or neither: another id in a slot is another call, and
   * so is a further name without any id, when the arguments before it are whole.
   */
  #find(piece: Fields, name: string | null, args: string): Call | undefined {
    const id = filled(piece.id)
    if (piece.index === undefined || piece.index === null) {
      if (id !== null) return this.#calls.find(call => call.wireId === id)
      return name === null ? this.#calls.at(-1) : undefined
    }
    const last = this.#calls.findLast(call => call.slot === piece.index)
    if (!last || (id !== null && last.wireId !== null && last.wireId !== id)) return undefined
    const another = id === null && name !== null && last.called && args.startsWith('{') && parseEvent(last.args)
    return another ? undefined : last
  }

  #open(piece: Fields): Call {
    this.#closeSpan()
    const wireId = filled(piece.id)
    const call: Call = {
      slot: piece.index ?? null,
      wireId,
      index: this.#next++,
      id: this.#ids.claim(wireId),
      called: null,
      input: null,
      whole: new WholeText(),
      args: '',
      opaque: {},
    }
    this.#calls.push(call)
    return call
  }

  #name(call: Call, name: string): void {
    call.called = this.#tools.called(name, null)
    call.input = call.called.freeform ? new InputStream() : null
    this.#emit({ type: 'item.start', index: call.index, item: { type: 'call', id: call.id, name: call.called.name } })
    if (call.args !== '') this.#giveArgs(call, call.args)
  }

  #giveArgs(call: Call, delta: string): void {
    const shown = call.input ? call.input.push(delta) : delta
    if (shown !== '') this.#emit({ type: 'args', index: call.index, delta: shown })
  }

  #endCall(call: Call): void {
    if (!call.called) this.#name(call, '')
    const { name = '', namespace = null, freeform = false } = call.called ?? {}
    const args = freeform ? unwrapInput(call.args) : call.args || '{}'
    const opaque = call.opaque.issuer === undefined ? {} : { chat: call.opaque }
    const item = { type: 'call', id: call.id, name, namespace, args, freeform, opaque } as const
    this.#emit({ type: 'item.end', index: call.index, item })
  }
}

const TRUNCATED: ModelFailure = { kind: 'truncated', message: 'stream closed before its finish_reason' }

/** Whether a piece of a call says anything at all. */
const isPiece = (piece: Fields): boolean => filled(piece.id) !== null || Object.keys(object(piece.function)).length > 0

/** Only a cut by length or by a filter matters; `stop` with tool calls, `eos` and other words are an ordinary end. */
function reasonOf(reason: string): 'stop' | 'length' | 'filter' {
  if (reason === 'length' || reason === 'max_tokens') return 'length'
  return reason === 'content_filter' ? 'filter' : 'stop'
}

/** Content is a string, or a list of parts (Mistral). */
const contentOf = (content: unknown): string =>
  raw(content) ||
  list(content)
    .map(part => raw(object(part).text))
    .join('')

/** A string as it came: half a character at its end is mended later. */
const raw = (value: unknown): string => (typeof value === 'string' ? value : '')

function usageOf(usage: Fields): Usage {
  const details = object(usage.prompt_tokens_details)
  const input = count(usage.prompt_tokens)
  const output = count(usage.completion_tokens)
  return {
    input,
    // DeepSeek has a name of its own.
    cached: count(details.cached_tokens) || count(usage.prompt_cache_hit_tokens),
    cacheWrite: count(details.cache_write_tokens),
    output,
    reasoning: count(object(usage.completion_tokens_details).reasoning_tokens),
    total: count(usage.total_tokens) || input + output,
  }
}
