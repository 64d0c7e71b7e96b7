import { readFileSync } from 'node:fs'
import { isObject } from '../../src/base/json.ts'
import { dig } from '../kit/dig.ts'
import { wanted } from '../kit/options.ts'
import type { Line } from './recording.ts'
import { Requests } from './requests.ts'

/** One way in which we mean to differ from the real codex (qa/differences.json; the format is in qa/README.md). */
export interface Difference {
  /** Names of scenarios, or `prefix*`. */
  readonly scenario: string | readonly string[]
  /** Method of the notification or server request, or of the request that an answer answers; `event` and `http` too. */
  readonly method: string
  /** What a golden message must contain to be meant; strings may hold `*`. */
  readonly match?: unknown
  /** Only the message with this place (from 0) among those that fit. */
  readonly nth?: number
  /** Where in the message; `*` stands for every entry. Empty for the whole message. */
  readonly pointer?: string
  /** What must stand there in the golden; strings may hold `*`. */
  readonly golden?: unknown
  /**
   * What we say instead; `{method}` in a string becomes the method, and a whole answer keeps its id. With `insert`, a message
   * or a list of them.
   */
  readonly ours?: unknown
  /** We do not send this at all. */
  readonly absent?: true
  /** We may say anything there. */
  readonly any?: true
  /** It is an id, and ours may be another one, the same wherever it stands. */
  readonly id?: true
  /** Our messages that stand before or after the golden's. */
  readonly insert?: 'before' | 'after'
  /** Why a user would want it so. */
  readonly reason: string
}

/** A golden as we mean to answer it, and which differences had something to do in it. */
export interface Rewritten {
  readonly lines: readonly Line[]
  readonly used: ReadonlySet<Difference>
}

/** Reads the list; throws on an entry that says nothing or gives no reason. */
export function readDifferences(path: string): readonly Difference[] {
  const list = JSON.parse(readFileSync(path, 'utf8')) as readonly Difference[]
  for (const entry of list) check(entry)
  return list
}

function check(entry: Difference): void {
  const ways = [entry.absent, entry.any, entry.id, 'ours' in entry ? true : undefined].filter(Boolean).length
  if (ways === 1 && entry.reason && entry.scenario.length > 0 && entry.method) return
  const needs = 'needs scenario, method, reason and exactly one of ours, absent, any and id'
  throw new Error(`a difference ${needs}: ${JSON.stringify(entry)}`)
}

/** Whether a difference is about this scenario. */
export function concerns({ scenario }: Difference, name: string): boolean {
  return wanted(name, typeof scenario === 'string' ? [scenario] : scenario)
}

/** Rewrites a golden, entry by entry in their order, so that a later entry sees what an earlier one made. */
export function rewrite(lines: readonly Line[], differences: readonly Difference[]): Rewritten {
  const used = new Set<Difference>()
  let rewritten = lines
  for (const difference of differences) {
    const next = applyOne(rewritten, difference)
    if (next !== rewritten) used.add(difference)
    rewritten = next
  }
  return { lines: rewritten, used }
}

/** The same list when the entry had nothing to do. */
function applyOne(lines: readonly Line[], difference: Difference): readonly Line[] {
  const requests = new Requests(lines)
  let fitting = 0
  let changed = false
  const made = lines.flatMap(line => {
    const method = line.dir === 's2c' ? (requests.methodOf(line) ?? '') : line.dir
    if (!fits(line, method, difference)) return [line]
    fitting += 1
    if (difference.nth !== undefined && difference.nth !== fitting - 1) return [line]
    const replaced = replace(line, { ...difference, method })
    if (replaced === null) return [line]
    changed = true
    return replaced
  })
  return changed ? made : lines
}

function fits({ dir, msg }: Line, own: string, { method, match }: Difference): boolean {
  if (dir === 'c2s') return false
  const isMeant = method.endsWith('*') ? own.startsWith(method.slice(0, -1)) : own === method
  return isMeant && (match === undefined || contains(msg, match))
}

/** What the line becomes; null when the golden does not hold what the entry is about. */
function replace(line: Line, difference: Difference): readonly Line[] | null {
  const { insert, pointer = '', absent } = difference
  if (insert) {
    const messages = Array.isArray(difference.ours) ? difference.ours : [difference.ours]
    const extra = messages.map(msg => ({ ...line, msg }))
    return insert === 'before' ? [...extra, line] : [line, ...extra]
  }
  if (pointer === '') return absent ? [] : [{ ...line, msg: withId(instead(line.msg, difference), line.msg) }]
  const state = { changed: false }
  const msg = at(line.msg, pointer.slice(1).split('/').map(unescapeKey), difference, state)
  return state.changed ? [{ ...line, msg }] : null
}

/** An answer that we give instead keeps the id of the golden's. */
function withId(ours: unknown, golden: unknown): unknown {
  const id = dig(golden, 'id')
  return isObject(ours) && id !== undefined && !('id' in ours) ? { ...ours, id } : ours
}

const unescapeKey = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~')

function at(
  value: unknown,
  [head = '', ...rest]: readonly string[],
  difference: Difference,
  state: { changed: boolean },
): unknown {
  if (typeof value !== 'object' || value === null) return value
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
  for (const key of head === '*' ? Object.keys(copy) : [head]) {
    if (rest.length > 0) copy[key] = at(copy[key], rest, difference, state)
    else if (isMeant(copy, key, difference)) {
      state.changed = true
      if (difference.absent) delete copy[key]
      else copy[key] = instead(copy[key], difference)
    }
  }
  return Array.isArray(copy) ? copy.filter(entry => entry !== undefined) : copy
}

/** A key we add need not be there yet; anything else must be, with the golden's value where one is given. */
function isMeant(owner: Record<string, unknown>, key: string, difference: Difference): boolean {
  const isAdded = 'ours' in difference && !('golden' in difference)
  if (!Object.hasOwn(owner, key)) return isAdded
  return !('golden' in difference) || contains(owner[key], difference.golden)
}

function instead(golden: unknown, { any, id, ours, method }: Difference): unknown {
  if (any) return '<ANY>'
  if (id) return `<ID:${String(golden)}>`
  return withMethod(ours, method)
}

function withMethod(value: unknown, method: string): unknown {
  if (typeof value === 'string') return value.replaceAll('{method}', method)
  if (Array.isArray(value)) return value.map(entry => withMethod(entry, method))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, withMethod(entry, method)]))
}

/** Whether `value` has all of `part`; a string of `part` may hold `*` for any text. */
function contains(value: unknown, part: unknown): boolean {
  if (typeof part === 'string') return typeof value === 'string' && glob(part).test(value)
  if (Array.isArray(part)) {
    return Array.isArray(value) && part.length === value.length && part.every((entry, i) => contains(value[i], entry))
  }
  if (!isObject(part)) return value === part
  return isObject(value) && Object.entries(part).every(([key, entry]) => key in value && contains(value[key], entry))
}

function glob(pattern: string): RegExp {
  const literal = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`, 's')
}
