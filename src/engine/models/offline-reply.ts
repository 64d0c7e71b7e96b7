import { createHash } from 'node:crypto'
import { wrapInput } from './freeform.ts'
import type { ContextEntry, ModelRequest, OutputItem, ToolSpec } from './model.ts'
import { scriptFor } from './offline-file.ts'
import { sampleOf } from './offline-sample.ts'
import { type CallStep, readScript, type Step } from './offline-script.ts'
import { textsOf } from './parts.ts'

type Result = Extract<ContextEntry, { readonly type: 'result' }>
export type CallItem = Extract<OutputItem, { readonly type: 'call' }>

/** What the offline model does in one response: the steps of its script from one batch of calls to the next. */
export interface OfflineReply {
  readonly steps: readonly Exclude<Step, { readonly type: 'usage' }>[]
  /** Tokens the script wants reported; null for an estimate. */
  readonly usage: { readonly input: number; readonly output: number } | null
}

/**
 * The reply to `request`, and to nothing else: how far the script has come is read from the results that follow the last
 * message of the user, so the same request always gets the same reply. `scriptFile`: path of the file whose scripts go
 * before those in messages; null for none.
 */
export function replyTo(request: ModelRequest, scriptFile: string | null): OfflineReply {
  const at = request.context.findLastIndex(isPrompt)
  const prompt = at < 0 ? '' : promptText(request.context[at])
  if (request.outputSchema != null) return say(JSON.stringify(sampleOf(request.outputSchema, lastLine(prompt))))
  const text = (scriptFile === null ? null : scriptFor(prompt, scriptFile)) ?? prompt
  const script = typeof text === 'string' ? readScript(text) : text
  if ('problem' in script) return failure(script.problem)
  if (script.length === 0) return say(echo(prompt))
  const results = request.context.slice(at + 1).filter(entry => entry.type === 'result')
  return scripted(script, results)
}

/** Context that clients and the engine put into the user's mouth; it never holds a script. */
const BACKGROUND =
  /^\s*(# AGENTS\.md|<(environment_context|user_instructions|turn_aborted|user_shell_command|skill|INSTRUCTIONS)>)/

const isPrompt = (entry: ContextEntry): boolean =>
  entry.type === 'message' && entry.role === 'user' && !BACKGROUND.test(textsOf(entry.parts))

const promptText = (entry: ContextEntry | undefined): string => (entry?.type === 'message' ? textsOf(entry.parts) : '')

const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim().slice(0, 80) ?? ''

const say = (text: string): OfflineReply => ({
  steps: [{ type: 'say', deltas: text.split(/(?<= )/) }],
  usage: null,
})

const failure = (problem: string): OfflineReply => ({
  steps: [{ type: 'fail', failure: { kind: 'failed', code: 'invalid_prompt', message: `offline model: ${problem}` } }],
  usage: null,
})

/** Characters of the request that an answer repeats. */
const ECHO = 400

function echo(prompt: string): string {
  const text = prompt.trim()
  const said = text.length > ECHO ? `${text.slice(0, ECHO)}...` : text
  const who =
    "This is Skein's offline model. It needs no key and no network, and does what directives in your message say"
  return `${who} (try \`say: hello\` or \`run: ls\`). ${said ? `You said: ${said}` : 'You said nothing.'}`
}

function scripted(script: readonly Step[], results: readonly Result[]): OfflineReply {
  const { steps, done } = batch(script, results.length)
  const here = steps.filter(step => step.type !== 'usage')
  const usage = script.slice(0, done + steps.length).findLast(step => step.type === 'usage') ?? null
  const speaks = here.some(
    step => step.type === 'say' || step.type === 'call' || step.type === 'fail' || step.type === 'cut',
  )
  if (speaks || results.length === 0) return { steps: here, usage }
  return { steps: [...here, ...say(summary(results)).steps], usage }
}

/** The steps after the calls that `answered` results answer, up to and with the next batch of calls. */
function batch(script: readonly Step[], answered: number): { readonly steps: readonly Step[]; readonly done: number } {
  let done = 0
  for (let left = answered; ; ) {
    const end = endOfBatch(script, done)
    const calls = script.slice(done, end).filter(step => step.type === 'call').length
    if (calls === 0 || calls > left) return { steps: script.slice(done, end), done }
    left -= calls
    done = end
  }
}

/** A call ends its response, unless the next step is a call joined to it. */
function endOfBatch(script: readonly Step[], from: number): number {
  for (let at = from; at < script.length; at++) {
    const next = script[at + 1]
    if (script[at]?.type === 'call' && !(next?.type === 'call' && next.joined)) return at + 1
  }
  return script.length
}

/** One line a result, as a person would want to hear it. */
function summary(results: readonly Result[]): string {
  const lines = results.map(({ name, parts }) => {
    const text = textsOf(parts)
    const output = (/(?:^|\n)Output:\n([\s\S]*)$/.exec(text)?.[1] ?? text).trim().replace(/\s+/g, ' ')
    return `${name}: ${output.length > 200 ? `${output.slice(0, 200)}...` : output || 'no output'}`
  })
  return `Done. ${lines.join('; ')}`
}

/** The call that `step` asks for, made for the tools that `request` offers. `n` counts the calls of one response. */
export function callItem(step: CallStep, request: ModelRequest, n: number): CallItem {
  const { name, namespace, args, freeform } = shaped(step, request.tools)
  return { type: 'call', id: callId(request, n), name, namespace, args, freeform, opaque: {} }
}

type Shape = Pick<CallItem, 'name' | 'namespace' | 'args' | 'freeform'>

function shaped(step: CallStep, tools: readonly ToolSpec[]): Shape {
  const plain = { namespace: null, freeform: false }
  switch (step.tool) {
    case 'command':
      return { ...plain, ...commandCall(step, tools) }
    case 'apply_patch': {
      const asFunction = tools.some(tool => tool.name === 'apply_patch' && tool.grammar === undefined)
      return {
        ...plain,
        name: 'apply_patch',
        args: asFunction ? wrapInput(step.args) : step.args,
        freeform: !asFunction,
      }
    }
    case 'update_plan':
      return { ...plain, name: 'update_plan', args: step.args }
    case 'other':
      return otherCall(step, tools)
    default:
      return step.tool satisfies never
  }
}

function commandCall({ args, escalated }: CallStep, tools: readonly ToolSpec[]): { name: string; args: string } {
  const old = tools.some(tool => tool.name === 'shell_command') && !tools.some(tool => tool.name === 'exec_command')
  const asked = {
    sandbox_permissions: 'require_escalated',
    justification: 'The script asks to run this outside the sandbox.',
  }
  const fields = { [old ? 'command' : 'cmd']: args, ...(escalated && asked) }
  return { name: old ? 'shell_command' : 'exec_command', args: JSON.stringify(fields) }
}

function otherCall({ name, args }: CallStep, tools: readonly ToolSpec[]): Shape {
  const slash = name.indexOf('/')
  const own = { name: name.slice(slash + 1), namespace: slash < 0 ? null : name.slice(0, slash) }
  const spec = tools.find(tool => tool.name === own.name && (tool.namespace ?? null) === own.namespace)
  return { ...own, args, freeform: spec?.grammar !== undefined }
}

/** Ids differ between all requests of a thread, and are the same for the same request. */
function callId({ cacheKey, context }: ModelRequest, n: number): string {
  const hash = createHash('sha256').update(cacheKey).update(JSON.stringify(context)).digest('hex')
  return `call_${hash.slice(0, 16)}_${n}`
}
