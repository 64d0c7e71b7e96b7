import { closeSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { v7 } from 'uuid'
import type { LogShape } from './subject.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Stands in the text of the turn that is repeated, where words are wanted. */
export const MARK = 'MARKERTEXT'

/** The text of a log as of another thread: `id` instead of `old`, other ids for everything in it, begun at `at` (ms). */
export function copyOf(text: string, { old, id, at }: { old: string; id: string; at: number }): string {
  return renewIds(shiftTimes(text, at), at, [old, id])
}

/** How long a thread is to become. The same words for all servers: how often a log repeats them is its own affair. */
export interface LongSize {
  readonly turns: number
  /** Characters of what the person says in a turn, and again of what the model answers. */
  readonly text: number
}

/** Writes the last turn of the log again and again, with other ids, numbers and words, until the thread is that long. */
export function repeatLastTurn(log: string, shape: LogShape, { turns, text, id }: LongSize & { id: string }): void {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n')
  const start = lines.findLastIndex(line => line.includes(shape.turnStart))
  const head = lines.slice(0, start).join('\n')
  const turn = lines.slice(start).join('\n')
  const words = wordsFor(text)
  const step = sequenceOf(turn) - sequenceOf(head)
  const file = openSync(`${log}.new`, 'w')
  writeSync(file, `${head}\n`)
  let ordinal = start
  for (let i = 0; i < turns - 1; i += 1) {
    const copy = renumber(renewIds(turn, Date.now(), [id, id]), i, step).replaceAll(MARK, words(i))
    for (const line of copy.split('\n')) {
      writeSync(file, `${line.replace(shape.ordinal, `$1${ordinal}`)}\n`)
      ordinal += 1
    }
  }
  closeSync(file)
  renameSync(`${log}.new`, log)
}

/** Words of that length, other ones for each turn. */
function wordsFor(length: number): (i: number) => string {
  const text = 'lorem ipsum dolor sit amet consectetur adipiscing elit '.repeat(Math.ceil(length / 55))
  return i => `${i} ${text}`.slice(0, length)
}

/** Codex's own numbers that must grow from turn to turn, and ids that the model gave. */
const renumber = (text: string, i: number, step: number): string =>
  text
    .replace(/"(history_sequence|sampled_through_sequence)":(\d+)/g, (_, key, n) => `"${key}":${Number(n) + step * i}`)
    .replace(/"((?:msg|resp)_\d+)"/g, `"$1_${i}"`)

const sequenceOf = (text: string): number =>
  Math.max(0, ...[...text.matchAll(/"history_sequence":(\d+)/g)].map(found => Number(found[1])))

/** Puts a new id for each old one, the same wherever it stands; `known` is a pair that is settled already. */
function renewIds(text: string, at: number, known: readonly [string, string]): string {
  const fresh = new Map([known])
  return text.replace(UUID, old => {
    const id = fresh.get(old) ?? v7({ msecs: at })
    fresh.set(old, id)
    return id
  })
}

/** Moves all times, in words or in milliseconds, so that the first one is `at`. */
function shiftTimes(text: string, at: number): string {
  const iso = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
  const number = /\b1[6-9]\d{11}\b/g
  const first = text.match(iso)?.[0]
  const by = at - (first === undefined ? Number(text.match(number)?.[0] ?? at) : Date.parse(first))
  return text
    .replace(iso, time => new Date(Date.parse(time) + by).toISOString())
    .replace(number, time => String(Number(time) + by))
}
