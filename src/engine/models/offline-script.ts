import { failed, refused } from './failures.ts'
import type { ModelFailure } from './model.ts'

/** One thing the offline model does. docs/offline-model.md shows each directive. */
export type Step =
  /** A message, in the pieces in which it streams. */
  | { readonly type: 'say'; readonly deltas: Iterable<string> }
  | { readonly type: 'think'; readonly text: string }
  | CallStep
  /** From here on, milliseconds before everything the model does. */
  | { readonly type: 'slow'; readonly ms: number }
  | { readonly type: 'fail'; readonly failure: ModelFailure }
  | { readonly type: 'cut' }
  | { readonly type: 'usage'; readonly input: number; readonly output: number }

/** `joined` calls go out in the same response as the call before them. */
export interface CallStep {
  readonly type: 'call'
  readonly tool: 'command' | 'apply_patch' | 'update_plan' | 'other'
  /** Name as the script gave it, `namespace/name` for a tool in a namespace; only for `other`. */
  readonly name: string
  /** A command line, a patch, or JSON arguments, by `tool`. */
  readonly args: string
  /** Asks to run a command outside the sandbox. */
  readonly escalated: boolean
  readonly joined: boolean
}

/** What is wrong with a script, with its line. */
export interface ScriptProblem {
  readonly problem: string
}

/** Reads the directives of `text`, one per line; other lines are prose and mean nothing. No directive: an empty list. */
export function readScript(text: string): readonly Step[] | ScriptProblem {
  const lines = text.split(/\r?\n/)
  const steps: Step[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, and, name, arg = ''] = DIRECTIVE.exec(lines[at] ?? '') ?? []
    if (name === undefined) continue
    const read = DIRECTIVES.get(name)
    const body = name === 'patch' ? patchLines(lines, at + 1) : []
    const step = read?.(arg.trim(), body) ?? `there is no directive ${name}`
    if (typeof step === 'string') return { problem: `line ${at + 1}: ${step}` }
    if (and && step.type !== 'call') return { problem: `line ${at + 1}: only calls of tools can be joined with "and"` }
    steps.push(and && step.type === 'call' ? { ...step, joined: true } : step)
    at += body.length
  }
  return steps
}

/** The lines of a patch: up to a blank line, `end`, or the end of the message. */
function patchLines(lines: readonly string[], from: number): readonly string[] {
  const length = lines.slice(from).findIndex(line => line === '' || line.trim() === 'end')
  return length < 0 ? lines.slice(from) : lines.slice(from, from + length)
}

type Reader = (arg: string, body: readonly string[]) => Step | string

const DIRECTIVES: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['say', arg => ({ type: 'say', deltas: unescaped(arg).split(/(?<= )/) })],
  ['stream', readStream],
  ['think', arg => ({ type: 'think', text: unescaped(arg) })],
  ['run', arg => call('command', arg)],
  ['ask-run', arg => call('command', arg, { escalated: true })],
  [
    'patch',
    (_, body) => (body.length > 0 ? call('apply_patch', envelope(body)) : 'patch: wants the lines of a patch below it'),
  ],
  ['write', readWrite],
  ['plan', arg => call('update_plan', JSON.stringify({ plan: arg.split(';').map(planStep) }))],
  ['call', readCall],
  ['fail', readFail],
  ['fail-http', readFailHttp],
  ['cut', () => ({ type: 'cut' })],
  ['slow', readSlow],
  ['usage', readUsage],
])

const DIRECTIVE = new RegExp(`^\\s*(and )?(${[...DIRECTIVES.keys()].join('|')}):(.*)$`)

const call = (tool: CallStep['tool'], args: string, more: Partial<CallStep> = {}): CallStep => ({
  type: 'call',
  tool,
  name: tool,
  args,
  escalated: false,
  joined: false,
  ...more,
})

const unescaped = (text: string): string => text.replaceAll('\\n', '\n')

/** Bounds of `stream:`; a script must not be able to fill the memory. */
const MAX_DELTAS = 1_000_000
const MAX_STREAM = 64 * 1024 * 1024

function readStream(arg: string): Step | string {
  const [, n, size] = /^(\d+)(?:\s+(\d+))?$/.exec(arg) ?? []
  const count = Number(n)
  const bytes = size === undefined ? null : Number(size)
  if (n === undefined) return 'stream: wants a number of deltas, and may have their size in bytes'
  if (count > MAX_DELTAS || count * (bytes ?? 8) > MAX_STREAM)
    return 'stream: that is too much (1000000 deltas, 64 MiB)'
  return { type: 'say', deltas: { [Symbol.iterator]: () => numbered(count, bytes) } }
}

/** `1 `, `2 ` ..., or each filled up to `bytes`, so that a client can tell which delta it lost. */
function* numbered(count: number, bytes: number | null): Generator<string> {
  for (let n = 1; n <= count; n++) yield bytes === null ? `${n} ` : `${n} `.slice(0, bytes).padEnd(bytes, 'x')
}

/** A patch without its first and last line gets them. */
function envelope(lines: readonly string[]): string {
  if (lines[0]?.trim() === '*** Begin Patch') return lines.join('\n')
  return ['*** Begin Patch', ...lines, '*** End Patch'].join('\n')
}

function readWrite(arg: string): Step | string {
  const [, path, content] = /^(.+?)\s*=\s?(.*)$/.exec(arg) ?? []
  if (path === undefined || content === undefined) return 'write: wants PATH = TEXT'
  const added = unescaped(content)
    .split('\n')
    .map(line => `+${line}`)
  return call('apply_patch', envelope([`*** Add File: ${path}`, ...added]))
}

/** `*step` is in progress, `+step` is done, `step` is to come. */
function planStep(mark: string): object {
  const [, sign, step] = /^([*+]?)\s*(.*)$/.exec(mark.trim()) ?? []
  const status = sign === '*' ? 'in_progress' : sign === '+' ? 'completed' : 'pending'
  return { step: step ?? '', status }
}

function readCall(arg: string): Step | string {
  const [, name, args] = /^(\S+)\s*(.*)$/.exec(arg) ?? []
  return name === undefined ? 'call: wants the name of a tool and its arguments' : call('other', args || '{}', { name })
}

function readFail(arg: string): Step | string {
  const [, code, message] = /^(\S+)\s*(.*)$/.exec(arg) ?? []
  if (code === undefined) return 'fail: wants a code, and may have a message'
  return { type: 'fail', failure: failed({ code, message: message || code }) }
}

function readFailHttp(arg: string): Step | string {
  const [, digits, code] = /^([345]\d\d)(?:\s+(\S+))?$/.exec(arg) ?? []
  if (digits === undefined) return 'fail-http: wants a status from 300 to 599, and may have a code'
  const status = Number(digits)
  const error = { message: `offline failure ${status}`, type: 'offline', code: code ?? 'offline' }
  return {
    type: 'fail',
    failure: refused({ status, headers: {}, body: JSON.stringify({ error }), url: 'offline:' }, 0),
  }
}

function readSlow(arg: string): Step | string {
  const ms = /^\d{1,7}$/.test(arg) ? Number(arg) : Number.NaN
  return Number.isNaN(ms) ? 'slow: wants milliseconds' : { type: 'slow', ms }
}

function readUsage(arg: string): Step | string {
  const [, input, output] = /^(\d{1,12})\s+(\d{1,12})$/.exec(arg) ?? []
  if (input === undefined) return 'usage: wants tokens in and tokens out'
  return { type: 'usage', input: Number(input), output: Number(output) }
}
