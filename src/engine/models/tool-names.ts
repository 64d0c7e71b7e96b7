import { createHash } from 'node:crypto'
import { newId } from '../../base/ids.ts'
import type { ContextEntry, ToolSpec } from './model.ts'

/** Longest function name every provider takes. */
const MAX_NAME = 64

/**
 * One flat name for a tool: `namespace__name`, only characters and lengths every provider takes. The same for a tool that
 * is offered and for a call of the past, so that history stays readable after the tool is gone.
 */
export function flatName(namespace: string | null | undefined, name: string): string {
  const joined = namespace ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}` : name
  const plain = joined.replace(/[^a-zA-Z0-9_-]/g, '_') || '_'
  return plain.length <= MAX_NAME ? plain : `${plain.slice(0, MAX_NAME - 9)}_${digest(joined).slice(0, 8)}`
}

/** A call id as every provider takes it back: at most 64 characters. */
export const wireCallId = (id: string): string =>
  id.length <= MAX_NAME ? id : `${id.slice(0, MAX_NAME - 9)}_${digest(id).slice(0, 8)}`

/** A call id for Mistral, which takes nine letters and digits and nothing else. */
export const shortCallId = (id: string): string => (/^[a-zA-Z0-9]{9}$/.test(id) ? id : digest(id).slice(0, 9))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What a call of the model means in our words. */
export interface Called {
  readonly name: string
  readonly namespace: string | null
  readonly freeform: boolean
}

/** Finds what the model called among the tools it was offered, by its flat name or with its namespace apart. */
export class ToolNames {
  readonly #byFlatName = new Map<string, ToolSpec>()

  constructor(tools: readonly ToolSpec[]) {
    for (const tool of tools) this.#byFlatName.set(flatName(tool.namespace, tool.name), tool)
  }

  /** An unknown name comes back as it is: the turn answers the model that there is no such tool. */
  called(name: string, namespace: string | null): Called {
    // Some models write `namespace.name` whatever they were offered.
    const tool =
      this.#byFlatName.get(flatName(namespace, name)) ??
      (namespace === null ? this.#byFlatName.get(flatName(null, name.replace('.', '__'))) : undefined)
    if (!tool) return { name, namespace, freeform: false }
    return { name: tool.name, namespace: tool.namespace ?? null, freeform: tool.grammar !== undefined }
  }
}

/**
 * Call ids that never repeat in a thread: some models count from 0 in every response, some name no id at all, and a
 * result must find its call. `context` is the request's.
 */
export class CallIds {
  readonly #context: readonly ContextEntry[]
  #used: Set<string> | undefined

  constructor(context: readonly ContextEntry[]) {
    this.#context = context
  }

  /** `id` itself when it is new, else a variation of it. */
  claim(id: string | null): string {
    this.#used ??= new Set(this.#context.flatMap(entry => (entry.type === 'call' ? [entry.id] : [])))
    const wanted = id ?? `call_${newId()}`
    let claimed = wanted
    for (let n = 2; this.#used.has(claimed); n++) claimed = `${wanted}_${n}`
    this.#used.add(claimed)
    return claimed
  }
}
