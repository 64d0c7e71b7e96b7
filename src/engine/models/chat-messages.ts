import { list, object, text } from './fields.ts'
import { wrapInput } from './freeform.ts'
import type { ContextEntry, ModelInfo, ModelRequest, Opaque, Part } from './model.ts'
import { paired } from './pairing.ts'
import { hasImages, NO_IMAGES, textsOf } from './parts.ts'
import { flatName, shortCallId, wireCallId } from './tool-names.ts'
import type { Target } from './wire.ts'

type Entry<T extends ContextEntry['type']> = Extract<ContextEntry, { readonly type: T }>
type Content = string | readonly object[]

interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly tool_call_id?: string
  content: Content | null
  tool_calls?: object[]
  reasoning_content?: string
  reasoning?: string
  reasoning_details?: unknown[]
}

/**
 * The messages of a Chat Completions request: one system message first, then turns that alternate as far as they can,
 * because chat templates of local models raise an error on anything else. What one side says in several entries is one
 * message. Developer text that comes later is a user's message in `<system-reminder>` tags: several servers refuse a
 * system message in the middle.
 */
export class ChatMessages {
  readonly #messages: Message[] = []
  readonly #info: ModelInfo
  readonly #callId: (id: string) => string
  /** Images out of tool results: a tool message cannot carry them, so they follow in a user's message. */
  #images: Part[] = []

  constructor({ instructions, context }: ModelRequest, { info, provider }: Target) {
    this.#info = info
    this.#callId = provider.id === 'mistral' ? shortCallId : wireCallId
    const entries = paired(context)
    const developer = entries.findIndex(entry => entry.type !== 'message' || entry.role !== 'developer')
    const leading = developer < 0 ? entries.length : developer
    this.#system([instructions, ...entries.slice(0, leading).map(said)])
    // Plain reasoning text belongs to the work in progress: DeepSeek wants it back there and refuses it earlier.
    const current = entries.findLastIndex(entry => entry.type === 'message' && entry.role === 'user')
    for (const [at, entry] of entries.entries()) if (at >= leading) this.#add(entry, at > current)
    this.#flushImages()
  }

  /** Reasoning alone is no message. */
  list(): readonly object[] {
    return this.#messages.filter(
      ({ role, content, tool_calls }) => role !== 'assistant' || content !== null || tool_calls,
    )
  }

  #system(texts: readonly string[]): void {
    const content = texts.filter(Boolean).join('\n\n')
    if (content) this.#messages.push({ role: 'system', content })
  }

  #add(entry: ContextEntry, current: boolean): void {
    if (entry.type === 'result') return this.#result(entry)
    this.#flushImages()
    switch (entry.type) {
      case 'message':
        return this.#user(entry.role === 'developer' ? reminder(entry.parts) : this.#content(entry.parts))
      case 'text':
        return this.#text(entry.text)
      case 'reasoning':
        return this.#reasoning(entry.opaque, current)
      case 'call':
        return this.#call(entry)
      default:
        return entry satisfies never
    }
  }

  #user(content: Content): void {
    const last = this.#messages.at(-1)
    if (last?.role === 'user') last.content = joined(last.content ?? '', content)
    else this.#messages.push({ role: 'user', content })
  }

  /** The assistant's message in progress. */
  #assistant(): Message {
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant') return last
    const message: Message = { role: 'assistant', content: null }
    this.#messages.push(message)
    return message
  }

  #text(said: string): void {
    if (said === '') return
    const message = this.#assistant()
    message.content = message.content === null ? said : joined(message.content, said)
  }

  #reasoning(opaque: Opaque, current: boolean): void {
    const own = object(opaque.chat)
    if (own.issuer !== this.#info.provider) return
    const message = this.#assistant()
    if (current && own.reasoning_content)
      message.reasoning_content = (message.reasoning_content ?? '') + text(own.reasoning_content)
    if (current && own.reasoning) message.reasoning = (message.reasoning ?? '') + text(own.reasoning)
    const details = list(own.reasoning_details)
    if (details.length > 0) message.reasoning_details = [...(message.reasoning_details ?? []), ...details]
  }

  #call({ id, name, namespace, args, freeform, opaque }: Entry<'call'>): void {
    const own = object(opaque.chat)
    const message = this.#assistant()
    message.tool_calls ??= []
    message.tool_calls.push({
      id: this.#callId(id),
      type: 'function',
      function: { name: flatName(namespace, name), arguments: freeform ? wrapInput(args) : args || '{}' },
      // Gemini behind this API signs its calls here and wants the signature back.
      ...(own.issuer === this.#info.provider &&
        own.extra_content !== undefined && { extra_content: own.extra_content }),
    })
  }

  #result({ id, parts }: Entry<'result'>): void {
    const images = parts.filter(part => part.type === 'image')
    const note = images.length > 0 ? [this.#info.images ? '(the image follows)' : NO_IMAGES] : []
    const content = [textsOf(parts), ...note].filter(Boolean).join('\n')
    this.#messages.push({ role: 'tool', tool_call_id: this.#callId(id), content })
    if (this.#info.images) this.#images.push(...images)
  }

  #flushImages(): void {
    if (this.#images.length > 0) this.#user(this.#images.map(contentPart))
    this.#images = []
  }

  #content(parts: readonly Part[]): Content {
    if (!hasImages(parts)) return textsOf(parts)
    if (this.#info.images) return parts.map(contentPart)
    return parts.map(part => (part.type === 'text' ? part.text : NO_IMAGES)).join('\n')
  }
}

const said = (entry: ContextEntry): string => (entry.type === 'message' ? textsOf(entry.parts) : '')

const reminder = (parts: readonly Part[]): string => `<system-reminder>\n${textsOf(parts)}\n</system-reminder>`

/** Two contents of one message: text stays text, which more servers read than lists of parts. */
function joined(first: Content, second: Content): Content {
  if (typeof first === 'string' && typeof second === 'string') return [first, second].filter(Boolean).join('\n\n')
  return [...listed(first), ...listed(second)]
}

const listed = (content: Content): readonly object[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

function contentPart(part: Part): object {
  if (part.type === 'text') return { type: 'text', text: part.text }
  return { type: 'image_url', image_url: { url: part.url, ...(part.detail !== undefined && { detail: part.detail }) } }
}
