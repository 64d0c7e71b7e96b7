import { isObject } from '../../src/base/json.ts'

const TEXT = 160
const OUTPUT = 600
const IMAGE = 60

/** The part of a model request that a golden keeps: settings, names of tools, and the input with long texts cut. */
export function summary(url: string, body: unknown): object {
  const request = isObject(body) ? body : {}
  const { model, stream, reasoning, text, tool_choice, parallel_tool_calls, store } = request
  return {
    url,
    model,
    stream,
    reasoning,
    text,
    tool_choice,
    parallel_tool_calls,
    store,
    tools: list(request.tools).map(tool => tool.name ?? tool.type),
    input: list(request.input).map(inputEntry),
  }
}

function inputEntry(entry: Record<string, unknown>): object {
  const { type, role, content, name, output } = entry
  return {
    type,
    role,
    ...(content ? { content: list(content).map(part) } : {}),
    ...(name ? { name } : {}),
    ...(output === undefined ? {} : { output: typeof output === 'string' ? output.slice(0, OUTPUT) : output }),
  }
}

function part({ type, text, image_url, detail }: Record<string, unknown>): object {
  return {
    type,
    ...(typeof text === 'string' ? { text: text.slice(0, TEXT) } : {}),
    ...(typeof image_url === 'string' ? { image_url: image_url.slice(0, IMAGE), detail } : {}),
  }
}

const list = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter(isObject) : []
