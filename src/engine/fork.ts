import { EngineError } from './errors.ts'
import { History } from './history.ts'
import type { Entry, Stored } from './store/records.ts'
import { INTERRUPTED } from './turn.ts'

/** Where a fork leaves its source: behind one turn, before one, or at its end. */
export interface ForkPoint {
  readonly lastTurnId: string | null
  readonly beforeTurnId: string | null
}

/**
 * What a fork takes over from its source's records: the conversation. Name, goal, queue and the like belong to the
 * source; the fork's settings stand in its header.
 */
export function copyOf(records: readonly Stored[], point: ForkPoint, now: number): readonly Entry[] {
  const entries = records.flatMap(({ n: _, at: __, ...entry }) => (isPast(entry) ? [entry] : []))
  const history = new History()
  for (const entry of entries) history.apply(entry, now)
  const cut = cutOf(history, point)
  if (cut !== null) entries.push({ t: 'rollback', from: cut })
  const open = cut === null ? history.turns().at(-1) : undefined
  if (open?.status === 'interrupted' && open.completedAt === null) {
    entries.push({ t: 'context', turn: open.id, entry: INTERRUPTED })
  }
  return entries
}

function isPast(record: { readonly t: string }): record is Entry {
  switch ((record as Entry).t) {
    case 'turn':
    case 'item':
    case 'context':
    case 'usage':
    case 'end':
    case 'rollback':
      return true
    default:
      return false
  }
}

/** The first turn that the fork leaves out, or null. */
function cutOf(history: History, { lastTurnId, beforeTurnId }: ForkPoint): string | null {
  if (lastTurnId !== null && beforeTurnId !== null) {
    throw new EngineError('invalidParams', '`lastTurnId` cannot be combined with `beforeTurnId`')
  }
  const named = lastTurnId ?? beforeTurnId
  if (named === null) return null
  if (!history.hasTurn(named)) throw new EngineError('turnNotFound', `turn not found: ${named}`)
  return lastTurnId === null ? named : history.turnAfter(named)
}
