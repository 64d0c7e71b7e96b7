import t from 'tap'
import type { TurnView } from '../../src/engine/events.ts'
import type { Item } from '../../src/engine/items.ts'
import { occurrences } from '../../src/engine/search.ts'
import { text } from '../support/scripted.ts'

const user = (id: string, words: string): Item => ({ type: 'userMessage', id, clientId: null, content: text(words) })
const agent = (id: string, words: string): Item => ({ type: 'agentMessage', id, text: words, phase: null })

const turn = (id: string, ...items: readonly Item[]): TurnView => ({
  id,
  status: 'completed',
  error: null,
  startedAt: 0,
  completedAt: 0,
  durationMs: 0,
  items,
})

/** Where the term was found, with what the range covers in the snippet. */
const found = (turns: readonly TurnView[], term: string) =>
  [...occurrences(turns, term)].map(({ turnId, itemId, snippet: { text, match } }) => [
    turnId,
    itemId,
    text.slice(match.start, match.end),
  ])

t.test('it finds every place in the messages of both sides, whatever the case, in order', async t => {
  const reasoning: Item = { type: 'reasoning', id: 'r', summary: ['hello'], content: ['hello'] }
  const turns = [
    turn('1', user('a', 'Hello, hello'), reasoning, agent('b', 'none')),
    turn('2', agent('c', 'say HELLO')),
  ]
  t.strictSame(found(turns, 'hello'), [
    ['1', 'a', 'Hello'],
    ['1', 'a', 'hello'],
    ['2', 'c', 'HELLO'],
  ])
  t.strictSame(found(turns, 'absent'), [])
  t.strictSame(found([], 'hello'), [])
})

t.test('it takes the term as it is, no pattern', async t => {
  const turns = [turn('1', user('a', 'a.b (c)* [d] {e} ^f$ \\g h|i j-k l/m'))]
  for (const term of ['a.b', '(c)*', '[d]', '{e}', '^f$', '\\g', 'h|i', 'j-k', 'l/m']) {
    t.strictSame(found(turns, term), [['1', 'a', term]])
  }
  t.strictSame(found(turns, 'a?b'), [])
})

t.test('it counts in UTF-16 units and never cuts a character in two', async t => {
  const turns = [turn('1', user('a', `${'😀'.repeat(60)}İx${'😀'.repeat(60)}`))]
  t.strictSame(found(turns, 'x'), [['1', 'a', 'x']])
  const [first] = occurrences(turns, 'İx')
  t.match(first?.snippet.text, /^…😀.*😀…$/u)
  t.notMatch(first?.snippet.text, /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/)
  t.equal([...first!.snippet.text].length <= 2 * 80 + 4, true)
})
