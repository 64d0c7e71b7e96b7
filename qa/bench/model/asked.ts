import { dig } from '../../kit/dig.ts'

/** What a request asks the mock for. */
export interface Asked {
  /** The last words of the person. */
  readonly text: string
  /** What the tool said that was called since, or null. */
  readonly toolResult: string | null
  readonly tools: readonly string[]
}

/** Reads a request of the Responses API. */
export function readAsked(body: unknown): Asked {
  const input = dig(body, 'input')
  const tools = listOf(dig(body, 'tools')).map(tool => String(dig(tool, 'name') ?? dig(tool, 'type')))
  let toolResult: string | null = null
  for (const item of listOf(input).toReversed()) {
    if (/^(function|custom_tool)_call_output$/.test(String(dig(item, 'type'))))
      toolResult ??= textOf(dig(item, 'output'))
    else if (dig(item, 'role') === 'user') {
      const text = textOf(dig(item, 'content'))
      // What servers say in the person's name: environment, instructions.
      if (!text.startsWith('<') && !text.startsWith('# AGENTS')) return { text, toolResult, tools }
    }
  }
  return { text: typeof input === 'string' ? input : '', toolResult, tools }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  const parts = listOf(value).map(part => dig(part, 'text'))
  return parts.filter(part => typeof part === 'string').join('\n') || JSON.stringify(value)
}
