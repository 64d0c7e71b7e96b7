import { object } from './fields.ts'
import { functionParameters, wrapInput } from './freeform.ts'
import type { ContextEntry, ModelRequest, Part, ToolSpec } from './model.ts'
import { paired } from './pairing.ts'
import { hasImages, NO_IMAGES, textsOf } from './parts.ts'
import { flatName, wireCallId } from './tool-names.ts'
import type { Target } from './wire.ts'

/** The body of a Responses request, as codex sends it. Reasoning options and grammar tools go only to models that know them. */
export function encodeResponses(request: ModelRequest, target: Target): object {
  const { info } = target
  const reasoning = reasoningOf(request, target)
  const text = textOf(request, target)
  return {
    model: info.id,
    instructions: request.instructions,
    input: paired(request.context).flatMap(entry => inputItem(entry, target)),
    tools: toolsOf(request.tools, info.freeformTools),
    tool_choice: 'auto',
    parallel_tool_calls: info.known && request.tools.length > 0,
    ...(reasoning && { reasoning }),
    store: false,
    stream: true,
    // A model that does not reason refuses to be asked for its encrypted reasoning.
    include: reasoning ? ['reasoning.encrypted_content'] : [],
    prompt_cache_key: request.cacheKey,
    ...(request.serviceTier !== null && { service_tier: request.serviceTier }),
    ...(text && { text }),
  }
}

/** A known model reasons; of an unknown one only what was asked for explicitly is sent. */
function reasoningOf({ effort, summary }: ModelRequest, { info, summary: usual }: Target): object | undefined {
  const wanted = info.known ? (effort ?? info.defaultEffort) : effort === 'none' ? null : effort
  if (wanted === null) return undefined
  const shown = summary ?? usual
  return { effort: wanted, ...(shown !== null && shown !== 'none' && { summary: shown }) }
}

function textOf({ outputSchema }: ModelRequest, { verbosity }: Target): object | undefined {
  const schema = outputSchema ?? undefined
  if (verbosity === null && schema === undefined) return undefined
  const format = { type: 'json_schema', strict: true, schema, name: 'codex_output_schema' }
  return { ...(verbosity !== null && { verbosity }), ...(schema !== undefined && { format }) }
}

/** At most one item: reasoning that is not this provider's own gives none. */
function inputItem(entry: ContextEntry, { info }: Target): object[] {
  switch (entry.type) {
    case 'message':
      return [{ type: 'message', role: entry.role, content: entry.parts.map(part => inputPart(part, info.images)) }]
    case 'text':
      return [assistantItem(entry.text, entry.phase)]
    case 'reasoning': {
      const { issuer, ...own } = object(entry.opaque.responses)
      return issuer === info.provider ? [{ type: 'reasoning', ...own }] : []
    }
    case 'call':
      return [callItem(entry, info.freeformTools)]
    case 'result': {
      const type = entry.freeform && info.freeformTools ? 'custom_tool_call_output' : 'function_call_output'
      return [{ type, call_id: wireCallId(entry.id), output: outputOf(entry.parts, info.images) }]
    }
    default:
      return entry satisfies never
  }
}

/** Ids are left out: with `store: false` they name nothing, and those of other providers are refused. */
const assistantItem = (text: string, phase: string | null): object => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
  ...(phase !== null && { phase }),
})

function callItem(call: Extract<ContextEntry, { readonly type: 'call' }>, native: boolean): object {
  const call_id = wireCallId(call.id)
  if (call.freeform && native) return { type: 'custom_tool_call', call_id, name: call.name, input: call.args }
  const args = call.freeform ? wrapInput(call.args) : call.args || '{}'
  const name = native && call.namespace ? call.name : flatName(call.namespace, call.name)
  const namespace = native && call.namespace ? { namespace: call.namespace } : {}
  return { type: 'function_call', call_id, name, ...namespace, arguments: args }
}

/** Text alone is sent as a string, which every server reads. */
function outputOf(parts: readonly Part[], images: boolean): string | object[] {
  return hasImages(parts) ? parts.map(part => inputPart(part, images)) : textsOf(parts)
}

function inputPart(part: Part, images: boolean): object {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  if (!images) return { type: 'input_text', text: NO_IMAGES }
  return { type: 'input_image', image_url: part.url, ...(part.detail !== undefined && { detail: part.detail }) }
}

/** Tools of one namespace go together where the model knows namespaces (`native`), else each under its flat name. */
function toolsOf(tools: readonly ToolSpec[], native: boolean): object[] {
  const spaces = new Map<string, object[]>()
  return tools.flatMap(tool => {
    if (native && tool.grammar !== undefined) return [customTool(tool, tool.grammar)]
    if (!native || !tool.namespace) return [functionTool(tool, flatName(tool.namespace, tool.name))]
    const known = spaces.get(tool.namespace)
    known?.push(functionTool(tool, tool.name))
    if (known) return []
    const inside = [functionTool(tool, tool.name)]
    spaces.set(tool.namespace, inside)
    return [{ type: 'namespace', name: tool.namespace, description: `Tools of ${tool.namespace}.`, tools: inside }]
  })
}

const customTool = ({ name, description }: ToolSpec, definition: string): object => ({
  type: 'custom',
  name,
  description,
  format: { type: 'grammar', syntax: 'lark', definition },
})

/** `strict` is said, because leaving it out means true to OpenAI. */
const functionTool = (tool: ToolSpec, name: string): object => ({
  type: 'function',
  name,
  description: tool.description,
  strict: false,
  parameters: functionParameters(tool),
})
