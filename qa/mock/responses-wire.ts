import type { ServerResponse } from 'node:http'
import { sleep } from '../kit/child.ts'
import { type Stage, type Step, USAGE } from './step.ts'

/** Plays one step as a stream of the Responses API. The caller has dealt with `status` and `gate`. */
export async function playResponses(step: Step, stage: Stage, response: ServerResponse): Promise<void> {
  const stream = new ResponseStream(response, stage)
  response.writeHead(200, { 'content-type': 'text/event-stream', ...step.headers })
  stream.event('response.created', { response: { id: stream.id } })
  if (step.fail) return stream.failed(step.fail)
  if (step.cut) return void response.destroy()
  if (step.reason || step.raw) stream.reasoning(step.reason ?? [], step.raw)
  const words = step.say ?? step.sayThenCut
  if (words) await stream.message(step, words)
  else if (step.pauseMs) await sleep(step.pauseMs)
  if (step.sayThenCut) {
    // What was said must have left before the stream dies.
    await sleep(100)
    return void response.destroy()
  }
  stream.calls(step)
  if (step.gateAfter && !words) await stage.pass(step.gateAfter)
  stream.completed(step.usage ?? USAGE)
}

class ResponseStream {
  readonly id: string
  readonly #response: ServerResponse
  readonly #stage: Stage
  readonly #output: object[] = []

  constructor(response: ServerResponse, stage: Stage) {
    this.#response = response
    this.#stage = stage
    this.id = `resp_${stage.n}`
  }

  event(type: string, fields: object): void {
    this.#response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  }

  failed(error: object): void {
    this.event('response.failed', { response: { id: this.id, status: 'failed', error } })
    this.#response.end()
  }

  completed(usage: object): void {
    this.event('response.completed', { response: { id: this.id, output: this.#output, usage } })
    this.#response.end()
  }

  reasoning(summary: readonly string[], raw: readonly string[] | undefined): void {
    const item_id = `rs_${this.#stage.n}`
    const at = { item_id, output_index: this.#output.length }
    const item = {
      type: 'reasoning',
      id: item_id,
      summary: summary.map(text => ({ type: 'summary_text', text })),
      ...(raw ? { content: raw.map(text => ({ type: 'reasoning_text', text })) } : {}),
      encrypted_content: null,
    }
    this.#added({ ...item, summary: [], content: [] })
    for (const [summary_index, text] of summary.entries()) {
      const part = { type: 'summary_text', text: '' }
      this.event('response.reasoning_summary_part.added', { ...at, summary_index, part })
      for (const delta of text.split(/(?<= )/)) {
        this.event('response.reasoning_summary_text.delta', { ...at, summary_index, delta })
      }
    }
    for (const [content_index, delta] of (raw ?? []).entries()) {
      this.event('response.reasoning_text.delta', { ...at, content_index, delta })
    }
    this.#done(item)
  }

  async message(step: Step, words: readonly string[]): Promise<void> {
    const id = `msg_${this.#stage.n}`
    const content = [{ type: 'output_text', text: words.join(''), annotations: [] }]
    const item = {
      type: 'message',
      role: 'assistant',
      id,
      content,
      ...(step.phase === undefined ? {} : { phase: step.phase }),
    }
    this.#added({ ...item, content: [] })
    for (const [index, delta] of words.entries()) {
      const at = { item_id: id, output_index: this.#output.length, content_index: 0 }
      if (step.pauseMs) await sleep(step.pauseMs)
      this.event('response.output_text.delta', { ...at, delta })
      if (index === 0 && step.gateAfter) await this.#stage.pass(step.gateAfter)
    }
    if (!step.sayThenCut) this.#done(item)
  }

  calls(step: Step): void {
    for (const [index, call] of (step.calls ?? []).entries()) {
      const item = {
        type: 'function_call',
        id: `fc_${this.#stage.n}_${index}`,
        call_id: `call_${this.#stage.n}_${index}`,
        name: call.name,
        ...(call.namespace === undefined ? {} : { namespace: call.namespace }),
        arguments: JSON.stringify(call.args),
      }
      this.#added({ ...item, arguments: '' })
      this.#done(item)
    }
    if (step.custom) {
      const ids = { id: `ctc_${this.#stage.n}`, call_id: `call_${this.#stage.n}_0` }
      const item = { type: 'custom_tool_call', ...ids, ...step.custom }
      this.#added({ ...item, input: '' })
      this.#done(item)
    }
    for (const item of step.items ?? []) {
      this.#added(item)
      this.#done(item)
    }
  }

  #added(item: object): void {
    this.event('response.output_item.added', { output_index: this.#output.length, item })
  }

  #done(item: object): void {
    this.event('response.output_item.done', { output_index: this.#output.length, item })
    this.#output.push(item)
  }
}
