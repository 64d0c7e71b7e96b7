import type { ClientToolItem, ToolContent } from '../items.ts'
import type { Part, ToolSpec } from '../models/model.ts'
import { badArguments } from './args.ts'
import type { ClientTool } from './client-tool-specs.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tool.ts'

/** What the model is told when the client answers a call with an error, or not at all. */
export const CLIENT_TOOL_FAILED = 'dynamic tool request failed'

/** What the model is told when the client's answer has the wrong shape; for the dialect that decodes it. */
export const CLIENT_TOOL_INVALID = 'dynamic tool response was invalid'

/** What stands for an image that no model could look at. */
const NO_IMAGE = 'image content omitted because it could not be processed'

/** A tool that the client runs: the call is put to it, and its answer is the result. */
export function clientTool(tool: ClientTool): Tool {
  return { spec: specOf(tool), run: (call, cx) => run(tool, call, cx) }
}

function specOf({ name, namespace, description, parameters }: ClientTool): ToolSpec {
  return { name, description, parameters, ...(namespace === null ? {} : { namespace }) }
}

async function run(tool: ClientTool, call: ToolCall, cx: ToolContext): Promise<ToolResult> {
  const args = parseAny(call.args)
  if (!args.ok) return badArguments(args.error)
  const { name, namespace } = tool
  const item: ClientToolItem = {
    type: 'clientTool',
    id: call.id,
    namespace,
    tool: name,
    arguments: args.value,
    status: 'inProgress',
    content: null,
    success: null,
    durationMs: null,
  }
  const startedAt = cx.now()
  cx.startItem(item)
  const { success, content } = await answer(item, cx)
  const durationMs = cx.now() - startedAt
  cx.completeItem({ ...item, status: success ? 'completed' : 'failed', content, success, durationMs })
  return { parts: content.map(partOf), isError: !success }
}

interface Answer {
  readonly success: boolean
  readonly content: readonly ToolContent[]
}

async function answer(item: ClientToolItem, cx: ToolContext): Promise<Answer> {
  const { namespace, tool } = item
  const decision = await cx.ask({
    type: 'clientTool',
    turnId: cx.turnId,
    itemId: item.id,
    namespace,
    tool,
    arguments: item.arguments,
  })
  switch (decision.type) {
    case 'result':
      return { success: decision.success, content: decision.content }
    case 'decline':
      return refused(decision.message ?? CLIENT_TOOL_FAILED)
    case 'cancel':
    case 'accept':
    case 'acceptForSession':
    case 'acceptPrefix':
      return refused(CLIENT_TOOL_FAILED)
    default:
      return decision satisfies never
  }
}

const refused = (text: string): Answer => ({ success: false, content: [{ type: 'text', text }] })

/** Arguments of any shape; none at all are an empty object. */
function parseAny(text: string): { ok: true; value: unknown } | { ok: false; error: string } {
  try {
    return { ok: true, value: text.trim() === '' ? {} : JSON.parse(text) }
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) }
  }
}

function partOf(content: ToolContent): Part {
  if (content.type === 'text') return content
  return isUsableImage(content.url) ? content : { type: 'text', text: NO_IMAGE }
}

/** First bytes of the kinds of images that models take. */
const SIGNATURES = ['89504e47', 'ffd8ff', '47494638', '52494646']

function isUsableImage(url: string): boolean {
  if (/^https?:\/\//i.test(url)) return true
  const data = /^data:image\/[\w.+-]+;base64,/i.exec(url)
  if (!data) return false
  const start = Buffer.from(url.slice(data[0].length, data[0].length + 16), 'base64').toString('hex')
  return SIGNATURES.some(signature => start.startsWith(signature))
}
