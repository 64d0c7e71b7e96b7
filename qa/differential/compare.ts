import { isObject } from '../../src/base/json.ts'
import { dig } from '../kit/dig.ts'
import { trimToPin } from './pin.ts'
import type { Line } from './recording.ts'
import { Requests } from './requests.ts'
import { ABSENT, Renaming } from './unify.ts'

/** Never compared: they say nothing about the conversation, or the real server loses them at random. */
const IGNORED = new Set([
  'item/commandExecution/outputDelta',
  'account/rateLimits/updated',
  'remoteControl/status/changed',
  'skills/changed',
])

/** Sent by other tasks of the real server than the turn, so their place among the others is chance. */
const APART = new Set([
  'thread/started',
  'thread/status/changed',
  'mcpServer/startupStatus/updated',
  'warning',
  'thread/tokenUsage/updated',
  'fuzzyFileSearch/sessionCompleted',
])

/** The first place where a stream of ours leaves the golden's. */
export interface Divergence {
  /** Which stream, e.g. `connection 1, answer to thread/read`. */
  readonly stream: string
  /** Index in that stream. */
  readonly index: number
  /** JSON pointer into the message. */
  readonly at: string
  /** The message of the golden that ours should have been. */
  readonly message: unknown
  readonly golden: unknown
  readonly ours: unknown
}

/** What a golden and a recording are taken apart into: streams by name, each compared in its own order. */
type Streams = Map<string, unknown[]>

/**
 * Compares two recordings: answers by the request they answer, notifications and server requests of a connection in order,
 * with what the real server sends at no fixed place in streams of its own. Gives one divergence for each stream that differs.
 */
export function compare(golden: readonly Line[], ours: readonly Line[], ignored: ReadonlySet<string>): Divergence[] {
  const theirs = streamsOf(golden, ignored)
  const mine = streamsOf(ours, ignored)
  const renaming = new Renaming()
  const names = new Set([...theirs.keys(), ...mine.keys()])
  return [...names].flatMap(name => diverge(name, theirs.get(name) ?? [], mine.get(name) ?? [], renaming))
}

function diverge(
  stream: string,
  golden: readonly unknown[],
  ours: readonly unknown[],
  renaming: Renaming,
): Divergence[] {
  const floats = stream.endsWith('at no fixed place')
  const a = floats ? sorted(golden) : golden
  const b = floats ? sorted(ours) : ours
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const theirs = index < a.length ? a[index] : ABSENT
    const mine = index < b.length ? b[index] : ABSENT
    const unequal = renaming.unify(theirs, mine)
    if (unequal) return [{ stream, index, message: theirs, ...unequal }]
  }
  return []
}

function streamsOf(lines: readonly Line[], ignored: ReadonlySet<string>): Streams {
  const streams: Streams = new Map()
  const requests = new Requests(lines)
  for (const line of lines) {
    const name = streamOf(line, requests)
    if (name === null || ignored.has(String(dig(line.msg, 'method')))) continue
    const stream = streams.get(name) ?? []
    stream.push(trimToPin(line.msg))
    streams.set(name, stream)
  }
  return streams
}

function streamOf(line: Line, requests: Requests): string | null {
  const { dir, conn, msg } = line
  if (dir === 'c2s' || !isObject(msg)) return null
  if (dir !== 's2c') return 'closed' in msg ? null : 'events'
  const { method, id } = msg
  if (typeof method !== 'string') {
    return `connection ${conn}, answer to ${requests.methodOf(line) ?? '?'} (id ${JSON.stringify(id)})`
  }
  if (IGNORED.has(method)) return null
  if (floats(method, msg)) return `connection ${conn}, at no fixed place`
  return APART.has(method) ? `connection ${conn}, ${method}` : `connection ${conn}, stream`
}

/** The real server watches commands from a task of its own, so their ends may come anywhere. */
const floats = (method: string, msg: unknown): boolean =>
  method === 'command/exec/outputDelta' ||
  (method === 'item/completed' && dig(msg, 'params.item.type') === 'commandExecution')

/** Sorted by content, whatever the placeholders are called. */
function sorted(messages: readonly unknown[]): readonly unknown[] {
  const key = (message: unknown): string => JSON.stringify(sortKeys(message)).replace(/<([A-Z]+)_\d+>/g, '<$1>')
  return [...messages].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map(key => [key, sortKeys(value[key])]))
}
