import { EngineError } from './errors.ts'
import type { QueuedInput } from './events.ts'

/** Inputs that may wait in one thread: more is a client gone wild. */
const MAX_QUEUED = 256

export type Queue = readonly QueuedInput[]

/** The queue with one more input at its end. */
export function added(queue: Queue, input: QueuedInput): Queue {
  if (queue.length < MAX_QUEUED) return [...queue, input]
  throw new EngineError('invalidParams', `the queue of a thread holds at most ${MAX_QUEUED} inputs`)
}

/** The queue with other words in the place of `id`'s; throws when it is not there. */
export function updated(queue: Queue, id: string, change: Pick<QueuedInput, 'input' | 'metadata'>): Queue {
  queued(queue, id)
  return queue.map(entry => (entry.id === id ? { ...entry, ...change } : entry))
}

export const removed = (queue: Queue, id: string): Queue => queue.filter(entry => entry.id !== id)

/** The queue in this order, which must name each of its inputs once. */
export function reordered(queue: Queue, ids: readonly string[]): Queue {
  if (ids.length === queue.length && new Set(ids).size === ids.length) return ids.map(id => queued(queue, id))
  throw new EngineError('invalidParams', 'queuedSubmissionIds must name every queued submission exactly once')
}

/** The input `id`, or the first one where it is null; throws when there is none. */
export function queued(queue: Queue, id: string | null): QueuedInput {
  const found = id === null ? queue[0] : queue.find(entry => entry.id === id)
  if (found) return found
  throw new EngineError('invalidParams', id === null ? 'the queue is empty' : `queued submission not found: ${id}`)
}
