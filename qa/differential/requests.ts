import { isObject } from '../../src/base/json.ts'
import { dig } from '../kit/dig.ts'
import type { Line } from './recording.ts'

/** Which method each request of a recording asked for. */
export class Requests {
  readonly #methods = new Map<string, string>()

  /** Reads all requests first: a message may be compared before the request that explains it was recorded. */
  constructor(lines: readonly Line[]) {
    for (const { dir, conn, msg } of lines) if (dir === 'c2s') this.#note(conn, msg)
  }

  /** The method of a notification or server request, or of the request that an answer answers; null where none is known. */
  methodOf({ conn, msg }: Line): string | null {
    const own = dig(msg, 'method')
    if (typeof own === 'string') return own
    return this.#methods.get(`${conn} ${JSON.stringify(dig(msg, 'id'))}`) ?? null
  }

  /** Text sent as it stood may hold a request too. */
  #note(conn: number, msg: unknown): void {
    const raw = dig(msg, '__raw')
    const message = typeof raw === 'string' ? parse(raw) : msg
    if (!isObject(message) || typeof message.method !== 'string') return
    this.#methods.set(`${conn} ${JSON.stringify(message.id)}`, message.method)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
