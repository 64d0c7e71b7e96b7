import { isObject } from '../../src/base/json.ts'
import { dig } from '../kit/dig.ts'
import { ToldTurns } from './as-told.ts'
import type { Difference } from './differences.ts'
import type { Line } from './recording.ts'
import { Requests } from './requests.ts'

/** A golden as we mean to answer it, and which differences had something to do in it. */
export interface Rewritten {
  readonly lines: readonly Line[]
  readonly used: ReadonlySet<Difference>
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
  const sieve = new Sieve(difference)
  const turns = new ToldTurns()
  let changed = false
  const made = lines.flatMap(line => {
    if (difference.told) turns.hear(line)
    const method = line.dir === 's2c' ? (requests.methodOf(line) ?? '') : line.dir
    if (!sieve.takes(line, method)) return [line]
    const replaced = difference.told ? retold(line, turns) : replace(line, { ...difference, method })
    if (replaced === null) return [line]
    changed = true
    return replaced
  })
  return changed ? made : lines
}

/** Finds the messages that an entry is about, in their order. */
class Sieve {
  readonly #difference: Difference
  readonly #last = new Map<number, string>()
  #taken = 0

  constructor(difference: Difference) {
    this.#difference = difference
  }

  takes(line: Line, method: string): boolean {
    const { nth, repeated } = this.#difference
    if (!fits(line, method, this.#difference)) return false
    if (repeated && !this.#isRepeated(line)) return false
    this.#taken += 1
    return nth === undefined || nth === this.#taken - 1
  }

  #isRepeated({ conn, msg }: Line): boolean {
    const text = JSON.stringify(msg)
    const isSame = this.#last.get(conn) === text
    this.#last.set(conn, text)
    return isSame
  }
}

/** Null when it holds no turn that was told otherwise. */
function retold(line: Line, turns: ToldTurns): readonly Line[] | null {
  const msg = turns.retell(line.msg)
  return JSON.stringify(msg) === JSON.stringify(line.msg) ? null : [{ ...line, msg }]
}

function fits({ dir, msg }: Line, own: string, { method, match }: Difference): boolean {
  if (dir === 'c2s') return false
  const isMeant = method.endsWith('*') ? own.startsWith(method.slice(0, -1)) : own === method
  return isMeant && (match === undefined || contains(msg, match))
}

/** What the line becomes; null when the golden does not hold what the entry is about. */
function replace(line: Line, difference: Difference): readonly Line[] | null {
  const { insert, pointer = '', absent } = difference
  if (insert && pointer === '') {
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
  const keys = head === '*' ? Object.keys(copy) : [head]
  if (rest.length > 0) for (const key of keys) copy[key] = at(copy[key], rest, difference, state)
  else return atLeaf(copy, keys, difference, state)
  return copy
}

function atLeaf(
  copy: Record<string, unknown>,
  keys: readonly string[],
  difference: Difference,
  state: { changed: boolean },
): unknown {
  if (difference.insert && !Array.isArray(copy)) return copy
  const meant = keys.filter(key => isMeant(copy, key, difference))
  if (meant.length > 0) state.changed = true
  if (difference.insert) return withEntry(copy, meant, difference)
  for (const key of meant) {
    if (difference.absent) delete copy[key]
    else copy[key] = instead(copy[key], difference)
  }
  return Array.isArray(copy) ? copy.filter(entry => entry !== undefined) : copy
}

function withEntry(list: object, beside: readonly string[], { insert, ours }: Difference): unknown {
  return Object.entries(list).flatMap(([index, entry]) => {
    if (!beside.includes(index)) return [entry]
    return insert === 'before' ? [ours, entry] : [entry, ours]
  })
}

/** A key we add need not be there yet; anything else must be, with the golden's value where one is given. */
function isMeant(owner: Record<string, unknown>, key: string, difference: Difference): boolean {
  const isAdded = 'ours' in difference && !('golden' in difference) && !difference.insert
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
