import { isObject } from '../../src/base/json.ts'

/** One example of a document, in the order of the document. */
export type Example = { readonly line: number } & (
  | { readonly type: 'request'; readonly method: string; readonly params: unknown }
  /** What the request before is answered with: a result or an error. */
  | { readonly type: 'response'; readonly message: Record<string, unknown> }
  /** A notification or request that the server sends after it. */
  | { readonly type: 'sent'; readonly message: Record<string, unknown> }
  /** What the client answers to the server's request before. */
  | { readonly type: 'reply'; readonly result: unknown }
)

const HEADS = {
  'Request:': 'request',
  'Response:': 'response',
  'Notification:': 'sent',
  'Server request:': 'sent',
  'Reply:': 'reply',
} as const

type Head = keyof typeof HEADS

/** An example that cannot be read. */
export class ExampleError extends Error {
  constructor(file: string, line: number, why: string) {
    super(`${file}:${line}: ${why}`)
    this.name = 'ExampleError'
  }
}

/**
 * Reads the examples of a Markdown document: `json` blocks under a line that is exactly `Request:`, `Response:`,
 * `Notification:`, `Server request:` or `Reply:`. Other blocks are prose. Throws an `ExampleError` on one that is no JSON.
 */
export function readExamples(file: string, markdown: string): readonly Example[] {
  const lines = markdown.split('\n')
  const examples: Example[] = []
  let head: Head | null = null
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at]?.trim() ?? ''
    if (text in HEADS) head = text as Head
    else if (text.startsWith('```')) {
      const end = lines.findIndex((line, index) => index > at && line.trim() === '```')
      if (end < 0) throw new ExampleError(file, at + 1, 'this block has no end')
      if (head !== null && text === '```json') {
        examples.push(readExample(file, at + 1, head, lines.slice(at + 1, end).join('\n')))
      }
      head = null
      at = end
    } else if (text !== '') head = null
  }
  return examples
}

function readExample(file: string, line: number, head: Head, text: string): Example {
  const message = parse(file, line, text)
  switch (HEADS[head]) {
    case 'request':
      if (typeof message.method !== 'string') throw new ExampleError(file, line, 'a request has a method')
      return { type: 'request', line, method: message.method, params: message.params }
    case 'response': {
      if ('result' in message || 'error' in message) return { type: 'response', line, message }
      return { type: 'response', line, message: { result: message } }
    }
    case 'sent':
      if (typeof message.method !== 'string') throw new ExampleError(file, line, 'what the server sends has a method')
      return { type: 'sent', line, message }
    case 'reply':
      return { type: 'reply', line, result: 'result' in message ? message.result : message }
    default:
      return HEADS[head] satisfies never
  }
}

function parse(file: string, line: number, text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ExampleError(file, line, error instanceof Error ? error.message : 'no JSON')
  }
  if (!isObject(value)) throw new ExampleError(file, line, 'an example is an object')
  return value
}
