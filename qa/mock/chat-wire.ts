import type { ServerResponse } from 'node:http'
import { sleep } from '../kit/child.ts'
import type { Call, Stage, Step } from './step.ts'

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 10 },
  completion_tokens_details: { reasoning_tokens: 5 },
}

/** Plays one step as a stream of Chat Completions. The caller has dealt with `status` and `gate`. */
export async function playChat(step: Step, stage: Stage, response: ServerResponse): Promise<void> {
  const id = `chatcmpl-${stage.n}`
  const data = (value: object): void => void response.write(`data: ${JSON.stringify(value)}\n\n`)
  const chunk = (delta: object, finish_reason: string | null = null): void => {
    data({ id, object: 'chat.completion.chunk', model: 'mock', choices: [{ index: 0, delta, finish_reason }] })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', ...step.headers })
  if (step.cut) return void response.destroy()
  if (step.fail) {
    data({ error: step.fail })
    return void response.end()
  }
  chunk({ role: 'assistant', content: '' })
  for (const text of [...(step.reason ?? []), ...(step.raw ?? [])]) chunk({ reasoning_content: text })
  const words = step.say ?? step.sayThenCut ?? []
  for (const [index, content] of words.entries()) {
    if (step.pauseMs) await sleep(step.pauseMs)
    chunk({ content })
    if (index === 0 && step.gateAfter) await stage.pass(step.gateAfter)
  }
  if (step.sayThenCut) {
    await sleep(100)
    return void response.destroy()
  }
  const calls = callsOf(step)
  for (const [index, call] of calls.entries()) for (const delta of callDeltas(call, index, stage.n)) chunk(delta)
  if (step.gateAfter && !step.say) await stage.pass(step.gateAfter)
  chunk({}, calls.length > 0 ? 'tool_calls' : 'stop')
  data({ id, object: 'chat.completion.chunk', model: 'mock', choices: [], usage: step.usage ?? USAGE })
  response.write('data: [DONE]\n\n')
  response.end()
}

/** Chat has no freeform tools: their input is the one argument of a function. */
function callsOf(step: Step): readonly Call[] {
  const custom = step.custom ? [{ name: step.custom.name, args: { input: step.custom.input } }] : []
  return [...(step.calls ?? []), ...custom]
}

/** A call in three chunks: its head, then its arguments in two halves. */
function callDeltas(call: Call, index: number, n: number): readonly object[] {
  const text = JSON.stringify(call.args)
  const half = Math.ceil(text.length / 2)
  const part = (fields: object): object => ({ tool_calls: [{ index, ...fields }] })
  return [
    part({ id: `call_${n}_${index}`, type: 'function', function: { name: call.name, arguments: '' } }),
    part({ function: { arguments: text.slice(0, half) } }),
    part({ function: { arguments: text.slice(half) } }),
  ]
}
