import { isObject } from '../../src/base/json.ts'
import type { Tap } from './link.ts'
import { TurnEnds } from './turn-ends.ts'

/** The strict judge of one pin's outgoing frames (qa/conformance/strict.ts). */
export interface Strict {
  check(frame: unknown, context?: { readonly requestMethod?: string }): readonly string[]
}

/** What a witness saw go wrong: once for each pin, method and complaint. */
export interface Violation {
  readonly pin: string
  readonly method: string
  readonly complaint: string
  readonly example: string
  times: number
}

/**
 * Reads every frame the server under test sends, in whichever judge, and holds it against the strict schemas of the pins
 * and against the order of turns. A frame that an injected fault changed must not be shown to it.
 */
export class Witness {
  readonly #judges: ReadonlyMap<string, Strict>
  readonly #violations = new Map<string, Violation>()
  #frames = 0

  constructor(judges: ReadonlyMap<string, Strict>) {
    this.#judges = judges
  }

  /** How many frames of the server it has judged. */
  get frames(): number {
    return this.#frames
  }

  get violations(): readonly Violation[] {
    return [...this.#violations.values()]
  }

  /** A tap for one connection: it remembers which method each request id asked for, and which turns have ended. */
  tap(): Tap {
    const asked = new Map<string, string>()
    const turns = new TurnEnds()
    return (way, text) => {
      const frame = parse(text)
      if (way === 'out') {
        noteRequest(frame, asked)
        return
      }
      this.#judge(frame, text, asked)
      if (!isObject(frame) || typeof frame.method !== 'string') return
      const complaint = turns.take(frame.method, frame.params)
      if (complaint !== null) this.#report('all', frame.method, complaint, text)
    }
  }

  #judge(frame: unknown, text: string, asked: Map<string, string>): void {
    this.#frames += 1
    if (!isObject(frame)) {
      this.#report('all', 'none', 'the frame is no JSON object', text)
      return
    }
    const isAnswer = frame.method === undefined
    const requestMethod = isAnswer ? asked.get(JSON.stringify(frame.id)) : undefined
    const method = isAnswer ? `answer to ${requestMethod ?? '?'}` : String(frame.method)
    for (const [pin, judge] of this.#judges) {
      const complaints = judge.check(frame, requestMethod === undefined ? {} : { requestMethod })
      for (const complaint of complaints) this.#report(pin, method, complaint, text)
    }
  }

  #report(pin: string, method: string, complaint: string, example: string): void {
    // Places in a list differ from frame to frame; the complaint is the same.
    const key = `${pin} ${method} ${complaint.replace(/\/\d+/g, '/*')}`
    const known = this.#violations.get(key)
    if (known) known.times += 1
    else this.#violations.set(key, { pin, method, complaint, example: example.slice(0, 300), times: 1 })
  }
}

function noteRequest(frame: unknown, asked: Map<string, string>): void {
  if (!isObject(frame) || typeof frame.method !== 'string' || frame.id === undefined) return
  asked.set(JSON.stringify(frame.id), frame.method)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
