import t from 'tap'
import { History } from '../../src/engine/history.ts'
import type { Item } from '../../src/engine/items.ts'
import type { Stored } from '../../src/engine/store/records.ts'

const said = (id: string): Item => ({ type: 'agentMessage', id, text: id, phase: null })

/** A turn whose items completed in this order, each with its start. */
function itemsOf(...items: readonly (readonly [id: string, startedAt: number])[]): readonly string[] {
  const turn: Stored = { t: 'turn', turn: 'U', startedAt: 0, at: 0, n: 0 }
  const records = items.map(([id, startedAt], i): Stored => {
    const at = 10 + i
    return { t: 'item', turn: 'U', item: said(id), startedAt, completedAt: at, context: false, at, n: i + 1 }
  })
  return (
    History.of([turn, ...records])
      .turn('U')
      ?.items.map(item => item.id) ?? []
  )
}

t.test('it gives the items of a turn in the order in which they started', async t => {
  t.strictSame(itemsOf(['user', 1], ['command', 3], ['message', 2], ['last', 11]), [
    'user',
    'message',
    'command',
    'last',
  ])
})

t.test('it keeps the order of their ends for items that started together', async t => {
  t.strictSame(itemsOf(['fast', 1], ['slow', 1], ['first', 0]), ['first', 'fast', 'slow'])
})

t.test('it takes an item once', async t => {
  t.strictSame(itemsOf(['a', 1], ['b', 2], ['a', 3]), ['a', 'b'])
})
