import type { ModelCall } from './request.ts'
import type { Call, Step } from './step.ts'

const DIRECTIVE = /^(say|stream|think|run|ask-run|write|patch|plan|fail|fail-http|cut|slow|usage)\s*:\s?([\s\S]*)$/

interface Directive {
  readonly word: string
  readonly rest: string
}

/** Directives that end a response with a call of a tool; what follows them belongs to the next response. */
const TOOLS = new Set(['run', 'ask-run', 'write', 'patch', 'plan'])

/**
 * The answer to a request in the grammar of the offline model (docs/offline-model.md), as far as judges use it. Where the
 * script stands follows from the results that came since the person's message, so a repeated request is answered alike.
 */
export function stepFor(call: ModelCall): Step {
  const script = parse(call.text)
  if (script.length === 0) return { say: words(`mock answer to ${call.text.slice(0, 60)}`) }
  const part = partAt(script, call.results.length)
  const step = part.reduce<Step>((made, directive) => add(made, directive, call.tools), {})
  return isEmpty(step) ? { ...step, say: words(`done: ${call.results.at(-1)?.slice(0, 80) ?? 'nothing'}`) } : step
}

/** A text is a script when its first line is a directive; anything else is prose (a title prompt quotes scripts). */
function parse(text: string): readonly Directive[] {
  const lines = text.trim().split('\n')
  if (!DIRECTIVE.test(lines[0] ?? '')) return []
  const script: { word: string; rest: string }[] = []
  let inPatch = false
  for (const line of lines) {
    const last = script.at(-1)
    const match = DIRECTIVE.exec(line)
    if (inPatch && last) {
      if (isEnd(line)) inPatch = false
      else last.rest += `${line}\n`
    } else if (match) {
      script.push({ word: match[1] ?? '', rest: match[2] ?? '' })
      inPatch = match[1] === 'patch'
    }
  }
  return script
}

const isEnd = (line: string): boolean => line.trim() === '' || line.trim() === 'end'

/** The directives of the response that follows `results` results of tools. */
function partAt(script: readonly Directive[], results: number): readonly Directive[] {
  let seen = 0
  let start = 0
  for (const [index, directive] of script.entries()) {
    if (!TOOLS.has(directive.word)) continue
    if (seen === results) return script.slice(start, index + 1)
    seen += 1
    start = index + 1
  }
  return script.slice(start)
}

function isEmpty(step: Step): boolean {
  return !(step.say || step.calls || step.custom || step.status || step.fail || step.cut || step.sayThenCut)
}

function add(step: Step, { word, rest }: Directive, tools: readonly string[]): Step {
  const numbers = rest.split(/\s+/).map(Number)
  switch (word) {
    case 'say':
      return { ...step, say: [...(step.say ?? []), ...words(step.say ? `\n${rest}` : rest)] }
    case 'stream':
      return { ...step, say: Array.from({ length: numbers[0] ?? 1 }, () => 'x'.repeat(numbers[1] || 10)) }
    case 'think':
      return { ...step, reason: [...(step.reason ?? []), rest] }
    case 'fail':
      return { ...step, fail: { code: rest.split(' ')[0] ?? 'server_error', message: rest.replace(/^\S+\s*/, '') } }
    case 'fail-http':
      return { ...step, status: numbers[0] || 500 }
    case 'cut':
      return step.say ? withoutSay(step) : { ...step, cut: true }
    case 'slow':
      return { ...step, pauseMs: numbers[0] ?? 0 }
    case 'usage':
      return { ...step, usage: usage(numbers[0] ?? 0, numbers[1] ?? 0) }
    default:
      return { ...step, ...toolStep(word, rest, tools) }
  }
}

function withoutSay({ say = [], ...step }: Step): Step {
  return { ...step, sayThenCut: say }
}

function toolStep(word: string, rest: string, tools: readonly string[]): Step {
  switch (word) {
    case 'run':
      return { calls: [command(rest, tools)] }
    case 'ask-run':
      return { calls: [escalated(rest, tools)] }
    case 'plan':
      return { calls: [{ name: 'update_plan', args: { plan: rest.split(';').map(planStep) } }] }
    case 'write': {
      const [path = '', text = ''] = rest.split(/\s*=\s*/)
      return patch(`*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch\n`, tools)
    }
    default:
      return patch(rest, tools)
  }
}

function command(cmd: string, tools: readonly string[]): Call {
  if (tools.includes('shell_command') && !tools.includes('exec_command')) {
    return { name: 'shell_command', args: { command: cmd } }
  }
  return { name: 'exec_command', args: { cmd } }
}

function escalated(cmd: string, tools: readonly string[]): Call {
  const call = command(cmd, tools)
  const ask = { sandbox_permissions: 'require_escalated', justification: 'The mock model asks for it' }
  return { ...call, args: { ...call.args, ...ask, prefix_rule: [cmd.split(' ')[0]] } }
}

/** `*step` is in progress, `+step` is done. */
function planStep(text: string): { step: string; status: string } {
  const step = text.trim()
  if (step.startsWith('*')) return { step: step.slice(1).trim(), status: 'in_progress' }
  if (step.startsWith('+')) return { step: step.slice(1).trim(), status: 'completed' }
  return { step, status: 'pending' }
}

/** As a freeform tool, as a function, or as the command that codex takes for a patch: whichever is on offer. */
function patch(input: string, tools: readonly string[]): Step {
  if (tools.includes('apply_patch!')) return { custom: { name: 'apply_patch', input } }
  if (tools.includes('apply_patch')) return { calls: [{ name: 'apply_patch', args: { input } }] }
  return { calls: [command(`apply_patch <<'EOF'\n${input.trimEnd()}\nEOF`, tools)] }
}

function usage(input: number, output: number): object {
  return { input_tokens: input, output_tokens: output, total_tokens: input + output }
}

const words = (text: string): readonly string[] => text.split(/(?<=\s)(?=\S)/)
