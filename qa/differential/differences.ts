import { readFileSync } from 'node:fs'
import { wanted } from '../kit/options.ts'

/** One way in which we mean to differ from the real codex (qa/differences.json; the format is in qa/README.md). */
export interface Difference {
  /** Names of scenarios, or `prefix*`. */
  readonly scenario: string | readonly string[]
  /** Method of the notification or server request, or of the request that an answer answers; `event` and `http` too. */
  readonly method: string
  /** What a golden message must contain to be meant; strings may hold `*`. */
  readonly match?: unknown
  /** Only messages that say the same as the one before them, of those that fit and of one connection. */
  readonly repeated?: true
  /** Only the message with this place (from 0) among those that fit. */
  readonly nth?: number
  /** Where in the message; `*` stands for every entry. Empty for the whole message. */
  readonly pointer?: string
  /** What must stand there in the golden; strings may hold `*`. */
  readonly golden?: unknown
  /**
   * What we say instead; `{method}` in a string becomes the method, and a whole answer keeps its id. With `insert`, a message
   * or a list of them, or with a pointer to an entry of an array, another entry.
   */
  readonly ours?: unknown
  /** We do not send this at all. */
  readonly absent?: true
  /** We may say anything there. */
  readonly any?: true
  /** It is an id, and ours may be another one, the same wherever it stands. */
  readonly id?: true
  /** The turns of a history in it are as the notifications before it told them (see `ToldTurns`). */
  readonly told?: true
  /** Our messages that stand before or after the golden's, or the entry before or after the array's. */
  readonly insert?: 'before' | 'after'
  /** Why a user would want it so. */
  readonly reason: string
}

/** Reads the list; throws on an entry that says nothing or gives no reason. */
export function readDifferences(path: string): readonly Difference[] {
  const list = JSON.parse(readFileSync(path, 'utf8')) as readonly Difference[]
  for (const entry of list) check(entry)
  return list
}

function check(entry: Difference): void {
  const { absent, any, id, told } = entry
  const ways = [absent, any, id, told, 'ours' in entry ? true : undefined].filter(Boolean).length
  if (ways === 1 && entry.reason && entry.scenario.length > 0 && entry.method) return
  const needs = 'needs scenario, method, reason and exactly one of ours, absent, any, id and told'
  throw new Error(`a difference ${needs}: ${JSON.stringify(entry)}`)
}

/** Whether a difference is about this scenario. */
export function concerns({ scenario }: Difference, name: string): boolean {
  return wanted(name, typeof scenario === 'string' ? [scenario] : scenario)
}
