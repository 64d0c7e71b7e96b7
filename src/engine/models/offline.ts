import { setImmediate as nextTick } from 'node:timers/promises'
import type { ContextEntry, Model, ModelEvent, ModelFailure, ModelInfo, ModelRequest, Usage } from './model.ts'
import { type CallItem, callItem, type OfflineReply, replyTo } from './offline-reply.ts'
import { textsOf } from './parts.ts'
import { wait } from './wait.ts'

/**
 * The scripted model that ships with Skein: no key, no network. The last message of the user is its script, or chooses
 * one of a script file (docs/offline-model.md). Deterministic: the same request always streams the same events.
 */
export class OfflineModel implements Model {
  readonly info: ModelInfo
  readonly #scriptFile: string | null

  constructor(info: ModelInfo, scriptFile: string | null) {
    this.info = info
    this.#scriptFile = scriptFile
  }

  async stream(request: ModelRequest, emit: (event: ModelEvent) => void, signal: AbortSignal): Promise<void> {
    const reply = replyTo(request, this.#scriptFile)
    const playback = new Playback(request, emit, signal)
    const failure = signal.aborted ? null : await playback.play(reply.steps)
    if (signal.aborted) emit({ type: 'error', error: { kind: 'aborted', message: 'the request was aborted' } })
    else if (failure) emit({ type: 'error', error: failure })
    else emit({ type: 'finish', reason: 'stop', usage: usageOf(reply, request, playback) })
  }
}

/** Deltas between two chances for others: a million of them must not stop the server. */
const BREATH = 200

class Playback {
  /** Characters of text and arguments given so far. */
  said = 0
  /** Characters of reasoning given so far. */
  thought = 0
  readonly #request: ModelRequest
  readonly #emit: (event: ModelEvent) => void
  readonly #signal: AbortSignal
  #index = 0
  #calls = 0
  #paceMs = 0

  constructor(request: ModelRequest, emit: (event: ModelEvent) => void, signal: AbortSignal) {
    this.#request = request
    this.#emit = emit
    this.#signal = signal
  }

  /** Plays `steps`; gives the failure that ended them, or null. Stops early when the signal is aborted. */
  async play(steps: OfflineReply['steps']): Promise<ModelFailure | null> {
    this.#emit({ type: 'start', responseId: null, model: 'offline' })
    for (const [at, step] of steps.entries()) {
      if (this.#signal.aborted) return null
      if (step.type === 'slow') this.#paceMs = step.ms
      else if (step.type === 'say') await this.#say(step.deltas, steps[at + 1]?.type === 'cut')
      else if (step.type === 'think') await this.#think(step.text)
      else if (step.type === 'call') await this.#call(callItem(step, this.#request, this.#calls++))
      else return this.#fail(step.type === 'cut' ? CUT : step.failure)
    }
    // `slow` with nothing after it delays the end.
    if (steps.at(-1)?.type === 'slow') await this.#pause()
    return null
  }

  async #fail(failure: ModelFailure): Promise<ModelFailure> {
    await this.#pause()
    return failure
  }

  async #say(deltas: Iterable<string>, open: boolean): Promise<void> {
    const index = this.#index++
    const pieces: string[] = []
    this.#emit({ type: 'item.start', index, item: { type: 'text', id: null, phase: null } })
    for (const delta of deltas) {
      if (delta === '') continue
      if (this.#paceMs > 0) await this.#pause()
      else if (pieces.length % BREATH === BREATH - 1) await nextTick()
      if (this.#signal.aborted) return
      pieces.push(delta)
      this.said += delta.length
      this.#emit({ type: 'text', index, delta })
    }
    if (open) return // the stream is cut in the middle of this message
    this.#emit({ type: 'item.end', index, item: { type: 'text', id: null, text: pieces.join(''), phase: null } })
  }

  async #think(text: string): Promise<void> {
    const index = this.#index++
    this.thought += text.length
    this.#emit({ type: 'item.start', index, item: { type: 'reasoning', id: null } })
    this.#emit({ type: 'summary.part', index, part: 0 })
    for (const delta of text.split(/(?<= )/)) {
      await this.#pause()
      if (this.#signal.aborted) return
      this.#emit({ type: 'summary', index, part: 0, delta })
    }
    const item = { type: 'reasoning', id: null, summary: [text], content: [], opaque: {} } as const
    this.#emit({ type: 'item.end', index, item })
  }

  async #call(item: CallItem): Promise<void> {
    await this.#pause()
    if (this.#signal.aborted) return
    const index = this.#index++
    this.said += item.args.length
    this.#emit({ type: 'item.start', index, item: { type: 'call', id: item.id, name: item.name } })
    this.#emit({ type: 'args', index, delta: item.args })
    this.#emit({ type: 'item.end', index, item })
  }

  async #pause(): Promise<void> {
    if (this.#paceMs > 0) await wait(this.#paceMs, this.#signal)
  }
}

/** As a real stream dies (codex's words for it). */
const CUT: ModelFailure = {
  kind: 'network',
  message: 'Transport error: network error: error decoding response body',
  code: 'ECONNRESET',
}

/** What the script says, else four characters a token. */
function usageOf({ usage }: OfflineReply, { instructions, context }: ModelRequest, said: Playback): Usage {
  const reasoning = tokens(said.thought)
  const input = usage?.input ?? tokens(context.reduce((sum, entry) => sum + lengthOf(entry), instructions.length))
  const output = usage?.output ?? tokens(said.said) + reasoning
  return { input, cached: 0, cacheWrite: 0, output, reasoning: Math.min(reasoning, output), total: input + output }
}

const tokens = (characters: number): number => Math.ceil(characters / 4)

function lengthOf(entry: ContextEntry): number {
  switch (entry.type) {
    case 'message':
    case 'result':
      return textsOf(entry.parts).length
    case 'text':
    case 'reasoning':
      return entry.text.length
    case 'call':
      return entry.args.length
    default:
      return entry satisfies never
  }
}
