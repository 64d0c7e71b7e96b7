import { isObject } from '../../src/base/json.ts'

/** What the mock model reads of a request, whichever wire it came on. */
export interface ModelCall {
  /** Text of the last message a person wrote. */
  readonly text: string
  /** Results of tools since that message, oldest first. */
  readonly results: readonly string[]
  /** Names of the tools offered; a freeform one is written `NAME!`. */
  readonly tools: readonly string[]
}

/** Reads the body of a Responses or a Chat Completions request. A body that is neither reads as empty. */
export function readCall(body: unknown): ModelCall {
  if (!isObject(body)) return { text: '', results: [], tools: [] }
  const entries = list(body.input ?? body.messages).filter(isObject)
  const last = entries.findLastIndex(isFromPerson)
  const after = entries.slice(last + 1)
  return {
    text: own(textOf(entries[last]?.content)),
    results: after.filter(isResult).map(entry => textOf(entry.output ?? entry.content)),
    tools: list(body.tools).filter(isObject).map(toolName),
  }
}

const isFromPerson = (entry: Record<string, unknown>): boolean =>
  entry.role === 'user' && own(textOf(entry.content)) !== ''

/** Servers put context into messages of the user too, before what the person wrote: in tags, or under a heading. */
function own(text: string): string {
  return text
    .replace(/^# AGENTS\.md.*$/m, '')
    .replace(/^<([A-Za-z_]+)[^>\n]*>\n[\s\S]*?<\/\1>\s*$/gm, '')
    .replace(/^<([A-Za-z_]+)[^>\n]*>.*<\/\1>\s*$/gm, '')
    .trim()
}

function isResult(entry: Record<string, unknown>): boolean {
  return entry.role === 'tool' || /^(function|custom_tool)_call_output$/.test(String(entry.type))
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const texts = list(content).map(part => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
  return texts.filter(text => text !== '').join('\n')
}

function toolName(tool: Record<string, unknown>): string {
  const inner = isObject(tool.function) ? tool.function.name : undefined
  const name = String(tool.name ?? inner ?? tool.type)
  return tool.type === 'custom' ? `${name}!` : name
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
