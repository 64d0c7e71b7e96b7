import { ChatMessages } from './chat-messages.ts'
import { functionParameters } from './freeform.ts'
import type { ModelInfo, ModelRequest, ToolSpec } from './model.ts'
import { flatName } from './tool-names.ts'
import type { Target } from './wire.ts'

/** The body of a Chat Completions request, in the part of the API that every server knows. */
export function encodeChat(request: ModelRequest, target: Target): object {
  const { info, provider } = target
  const effort = effortOf(request.effort, info)
  return {
    model: info.id,
    messages: new ChatMessages(request, target).list(),
    ...(request.tools.length > 0 && { tools: request.tools.map(functionTool) }),
    stream: true,
    // Mistral refuses the option and reports usage anyway.
    ...(provider.id !== 'mistral' && { stream_options: { include_usage: true } }),
    ...(effort !== null && { reasoning_effort: effort }),
    ...(request.serviceTier !== null && { service_tier: request.serviceTier }),
    ...(request.outputSchema != null && { response_format: responseFormat(request.outputSchema) }),
  }
}

/** Steps that only some OpenAI models know, as the nearest that every reasoning model knows. */
const NEAREST = new Map([
  ['minimal', 'low'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

/** `none` asks for nothing: models that do not reason refuse the parameter. */
function effortOf(effort: string | null, info: ModelInfo): string | null {
  if (effort === null || info.known) return effort
  return effort === 'none' ? null : (NEAREST.get(effort) ?? effort)
}

const responseFormat = (schema: unknown): object => ({
  type: 'json_schema',
  json_schema: { name: 'codex_output_schema', strict: true, schema },
})

const functionTool = (tool: ToolSpec): object => ({
  type: 'function',
  function: {
    name: flatName(tool.namespace, tool.name),
    description: tool.description,
    parameters: functionParameters(tool),
  },
})
