import { isObject } from '../../base/json.ts'

/** One tool of a client, as the engine keeps it. */
export interface ClientTool {
  readonly name: string
  readonly namespace: string | null
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: unknown
  /** Whether the client would rather not show it to the model from the start. */
  readonly deferred: boolean
}

/** Lengths that the Responses API takes, as codex checks them. */
const MAX_NAME = 128
const MAX_NAMESPACE = 64
const MAX_NAMESPACE_DESCRIPTION = 1_024

/** Namespaces that the Responses API keeps for itself. */
const RESERVED =
  'api_tool browser computer container file_search functions image_gen multi_tool_use python python_user_visible submodel_delegator terminal tool_search web'.split(
    ' ',
  )

/**
 * Checks the tools that a client brings (`{type: function | namespace, ...}`, or without a type). Null when they are fine,
 * else why not: codex's own words, which clients and people know.
 */
export function checkClientTools(specs: readonly unknown[]): string | null {
  try {
    check(specs)
    return null
  } catch (error) {
    if (error instanceof Bad) return error.message
    throw error
  }
}

/** The tools of checked specs, one by one. */
export function clientTools(specs: readonly unknown[]): readonly ClientTool[] {
  return specs.filter(isObject).flatMap(spec => {
    if (spec.type !== 'namespace') return [toolOf(spec, null)]
    return asList(spec.tools)
      .filter(isObject)
      .map(tool => toolOf(tool, String(spec.name)))
  })
}

function toolOf(spec: Record<string, unknown>, namespace: string | null): ClientTool {
  return {
    name: String(spec.name),
    // A legacy spec names its namespace itself.
    namespace: namespace ?? (typeof spec.namespace === 'string' ? spec.namespace : null),
    description: typeof spec.description === 'string' ? spec.description : '',
    parameters: spec.inputSchema,
    deferred: spec.deferLoading === true,
  }
}

class Bad extends Error {}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

function check(specs: readonly unknown[]): void {
  const names = new Set<string>()
  const namespaces = new Set<string>()
  for (const spec of specs) {
    if (!isObject(spec)) throw new Bad('dynamic tool must be an object')
    if (spec.type === 'namespace') checkNamespace(spec, namespaces)
    else checkTool(spec, typeof spec.namespace === 'string' ? spec.namespace : null, names)
  }
}

function checkNamespace(spec: Record<string, unknown>, seen: Set<string>): void {
  const label = 'dynamic tool namespace'
  const name = checkName(spec.name, label, MAX_NAMESPACE)
  if (typeof spec.description === 'string' && [...spec.description].length > MAX_NAMESPACE_DESCRIPTION) {
    throw new Bad(`${label} description must be at most ${MAX_NAMESPACE_DESCRIPTION} characters`)
  }
  if (isMcp(name)) throw new Bad(`${label} is reserved: ${name}`)
  if (RESERVED.includes(name)) throw new Bad(`${label} collides with a reserved Responses API namespace: ${name}`)
  if (seen.has(name)) throw new Bad(`duplicate ${label}: ${name}`)
  seen.add(name)
  const tools = asList(spec.tools)
  if (tools.length === 0) throw new Bad(`${label} must contain at least one tool: ${name}`)
  const names = new Set<string>()
  for (const tool of tools) {
    if (!isObject(tool)) throw new Bad('dynamic tool must be an object')
    checkTool(tool, name, names)
  }
}

function checkTool(spec: Record<string, unknown>, namespace: string | null, seen: Set<string>): void {
  const name = checkName(spec.name, 'dynamic tool name', MAX_NAME)
  if (isMcp(name)) throw new Bad(`dynamic tool name is reserved: ${name}`)
  const key = JSON.stringify([namespace, name])
  if (seen.has(key)) {
    throw new Bad(`duplicate dynamic tool name${namespace === null ? '' : ` in namespace ${namespace}`}: ${name}`)
  }
  seen.add(key)
  if (spec.deferLoading === true && namespace === null) {
    throw new Bad(`deferred dynamic tool must include a namespace: ${name}`)
  }
}

const isMcp = (name: string): boolean => name === 'mcp' || name.startsWith('mcp__')

function checkName(value: unknown, label: string, limit: number): string {
  const name = typeof value === 'string' ? value : ''
  if (name.trim() === '') throw new Bad(`${label} must not be empty`)
  const shown = escaped(name)
  if (name !== name.trim()) throw new Bad(`${label} has leading/trailing whitespace: ${shown}`)
  if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
    throw new Bad(`${label} must match ^[a-zA-Z0-9_-]+$ to match Responses API: ${shown}`)
  }
  if (name.length > limit)
    throw new Bad(`${label} must be at most ${limit} characters to match Responses API: ${shown}`)
  return name
}

/** A name in an error text: everything but visible ASCII as escapes. */
function escaped(name: string): string {
  const named: Readonly<Record<string, string>> = { '\t': '\\t', '\r': '\\r', '\n': '\\n' }
  return name.replace(/["'\\]|[^ -~]/gu, c => {
    if (/["'\\]/.test(c)) return `\\${c}`
    return named[c] ?? `\\u{${c.codePointAt(0)!.toString(16)}}`
  })
}
