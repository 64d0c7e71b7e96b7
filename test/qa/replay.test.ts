import t from 'tap'
import type { Backend } from '../../qa/kit/backend.ts'
import type { InProcessServer } from '../../qa/kit/in-process.ts'
import { makeRunFolder, remove } from '../../qa/kit/place.ts'
import { fill, match, type Values } from '../../qa/replay/match.ts'
import { play } from '../../qa/replay/play.ts'
import { readStory, StoryError } from '../../qa/replay/story.ts'
import type { Channel, ChannelHandlers } from '../../src/rpc/channel.ts'
import { Frame } from '../../src/rpc/frame.ts'
import { memoryPair } from '../../src/transport/memory.ts'

const UUID = '01a22d8c-2b72-7d53-8e2e-3d4eb454e043'
const OTHER = '01a22d8c-3657-7fd1-b49c-a3f8c646268a'

t.test('a pattern', t => {
  t.test('it captures a value by name and kind and holds later ones against it', async t => {
    const values: Values = new Map()
    t.equal(match({ a: '<t:uuid>', b: ['<t>', '<n:int>'] }, { a: UUID, b: [UUID, 7] }, values), null)
    t.strictSame(values, new Map<string, unknown>(Object.entries({ t: UUID, n: 7 })))
    t.strictSame(match({ a: '<t>' }, { a: OTHER }, values), {
      at: '/a',
      why: `expected "${UUID}", got "${OTHER}"`,
    })
  })

  t.test('it captures nothing when it does not match', async t => {
    const values: Values = new Map()
    t.ok(match({ a: '<x:int>', b: 1 }, { a: 5, b: 2 }, values))
    t.equal(values.size, 0)
  })

  for (const [kind, good, bad] of [
    ['uuid', UUID, 'x'],
    ['int', -3, 1.5],
    ['string', '', null],
    ['bool', false, 0],
    ['time', 1_796_060_490, 1_796_060_490.5],
    ['ms', 1_796_060_490_123, 1_796_060_490],
    ['array', [], {}],
    ['object', {}, []],
  ] as const) {
    t.test(`it tells a ${kind} from something else`, async t => {
      t.equal(match(`<:${kind}>`, good, new Map()), null)
      t.ok(match(`<:${kind}>`, bad, new Map()))
    })
  }

  t.test('it takes a kind nobody knows, or a name nobody captured, for a mistake of the story', async t => {
    t.throws(() => match('<x:colour>', 'red', new Map()), { message: /unknown kind colour/ })
    t.throws(() => match('<nobody>', 1, new Map()), { message: 'nothing is known as <nobody> yet' })
    t.throws(() => fill('<nobody>', new Map()), { message: 'nothing is known as <nobody> yet' })
  })

  t.test('it compares every key unless it says that more may come', async t => {
    t.strictSame(match({ a: 1 }, { a: 1, b: null }, new Map()), { at: '/b', why: 'unexpected key with null' })
    t.strictSame(match({ a: null }, {}, new Map()), { at: '/a', why: 'missing; expected null' })
    t.equal(match({ a: 1, '...': true }, { a: 1, b: 2 }, new Map()), null)
    t.equal(match([1, '...'], [1, 2, 3], new Map()), null)
    t.ok(match([1, 2], [1, 2, 3], new Map()))
    t.ok(match([1, 2, '...'], [1], new Map()))
  })

  t.test('it finds and captures inside a longer text, and `<<` is a plain bracket', async t => {
    const values: Values = new Map([['home', '/h (1)']])
    t.equal(match('<home>/r-<:string>-<t:uuid>.jsonl', `/h (1)/r-2026-${UUID}.jsonl`, values), null)
    t.equal(values.get('t'), UUID)
    t.equal(match('<<b> is bold', '<b> is bold', new Map()), null)
    t.ok(match('a.c', 'abc', new Map()))
  })

  t.test('it is not fooled by keys of the prototype', async t => {
    t.ok(match({ constructor: '<:any>' }, {}, new Map()))
    t.ok(match(JSON.parse('{"__proto__":1}'), {}, new Map()))
  })

  t.test('it fills captured values into what is sent, whatever their type', async t => {
    const values: Values = new Map<string, unknown>([
      ['n', 7],
      ['t', 'abc'],
    ])
    t.strictSame(fill({ a: '<n>', b: ['id <t>', '<<n>'] }, values), { a: 7, b: ['id abc', '<n>'] })
  })
  t.end()
})

t.test('a story', t => {
  t.test('it is read line by line, with continued lines, blocks and set-up', async t => {
    const story = readStory(
      'demo',
      [
        '# What it tells.',
        '! config model = "x"',
        '! file a.txt one\\ntwo',
        '! ignore x/y',
        'a> {"id":1,',
        '   "method":"m"}',
        'a<{',
        '  {"id":1,',
        '   "result":{}}',
        '  {"method":"n"}',
        '}',
        'a>> not json',
        'a<* {"method":"d"}',
        'a<none 50',
        'a<closed 1009',
      ].join('\n'),
    )
    t.strictSame(story.title, 'What it tells.')
    t.strictSame(story.setup, {
      transports: ['memory', 'stdio', 'ws'],
      config: ['model = "x"'],
      args: [],
      files: [['a.txt', 'one\ntwo\n']],
      ignore: ['x/y'],
      timeoutMs: 10_000,
      offline: false,
    })
    t.strictSame(
      story.acts.map(({ source: _, ...act }) => act),
      [
        { line: 5, type: 'send', client: 'a', message: { id: 1, method: 'm' } },
        { line: 7, type: 'unordered', client: 'a', patterns: [{ id: 1, result: {} }, { method: 'n' }] },
        { line: 12, type: 'raw', client: 'a', text: 'not json' },
        { line: 13, type: 'any', client: 'a', pattern: { method: 'd' } },
        { line: 14, type: 'silence', client: 'a', ms: 50 },
        { line: 15, type: 'closed', client: 'a', how: '1009' },
      ],
    )
  })

  t.test('with two clients it is not for standard streams', async t => {
    t.strictSame(readStory('two', 'a> {}\nb> {}').setup.transports, ['memory', 'ws'])
    t.strictSame(readStory('two', '! on unix ws\na> {}\nb> {}').setup.transports, ['ws', 'unix'])
  })

  for (const [what, text] of [
    ['a line that is nothing', 'hello'],
    ['a directive nobody knows', '! dance'],
    ['a message that is no JSON', 'a> {"id":'],
    ['a block without an end', 'a<{\n  {"a":1}'],
    ['a transport nobody knows', '! on carrier-pigeon\na> {}'],
  ] as const) {
    t.test(`it refuses ${what} and names the line`, async t => {
      t.throws(() => readStory('bad', text), StoryError)
      t.throws(() => readStory('bad', text), { message: /^bad:\d+: / })
    })
  }
  t.end()
})

t.test('playing', t => {
  const root = makeRunFolder()
  t.teardown(() => remove(root))
  const backend = { kind: 'offline' as Backend, configure: () => {}, close: () => {} }

  /** Plays a story in memory on a server that answers each message with `answer`. */
  async function played(text: string, answer: (message: Record<string, unknown>, to: Channel) => void): Promise<void> {
    const inProcess = async (): Promise<InProcessServer> => ({
      connect() {
        const [ours, theirs] = memoryPair()
        const handlers: ChannelHandlers = {
          message: received => answer(JSON.parse(received) as Record<string, unknown>, theirs),
          oversized: () => {},
          drain: () => {},
          closed: () => {},
        }
        theirs.open(handlers)
        return ours
      },
      stop: async () => {},
    })
    const theatre = { root, command: [], ignore: [], backend, inProcess, witness: null }
    await play(readStory('story', `! timeout 300\n${text}`), 'memory', theatre)
  }

  const send = (to: Channel, message: object): void => to.send(new Frame(() => JSON.stringify(message)))
  const echo = ({ id, method }: Record<string, unknown>, to: Channel): void => send(to, { id, result: { method } })

  t.test('it succeeds when everything comes as told, with values carried over', async t => {
    await t.resolves(
      played(
        'a> {"id":1,"method":"m"}\na< {"id":1,"result":{"method":"<m:string>"}}\na> {"id":2,"method":"<m>"}\na< {"id":2,"result":{"method":"m"}}',
        echo,
      ),
    )
  })

  t.test('it fails on another value, with the line, what was expected and what came', async t => {
    await t.rejects(played('a> {"id":1,"method":"m"}\na< {"id":1,"result":{"method":"n"}}', echo), {
      message: /^story\.txt:3: client a: at \/result\/method: expected "n", got "m"\nline: .*\nexpected: .*\ngot: /,
    })
  })

  t.test('it fails when nothing comes, when too much comes, and when the end brings more', async t => {
    await t.rejects(
      played('a> {"id":1,"method":"m"}\na< {"a":1}', () => {}),
      { message: /client a: nothing came/ },
    )
    await t.rejects(played('a> {"id":1,"method":"m"}\na<none 100', echo), { message: /nothing should have come/ })
    await t.rejects(played('a> {"id":1,"method":"m"}', echo), { message: /the story is over, but this came/ })
  })

  t.test('it takes a block in any order, and any number of frames that are alike', async t => {
    const three = (_: unknown, to: Channel): void => {
      for (const method of ['d', 'd', 'two', 'one']) send(to, { method })
    }
    await t.resolves(played('a> {}\na<* {"method":"d"}\na<{\n  {"method":"one"}\n  {"method":"two"}\n}', three))
    await t.rejects(played('a> {}\na<{\n  {"method":"d"}\n  {"method":"x"}\n}\n', three), {
      message: /none of what the block expects/,
    })
  })

  t.test('it ignores only what it was told to', async t => {
    const noisy = (message: Record<string, unknown>, to: Channel): void => {
      send(to, { method: 'noise' })
      echo(message, to)
    }
    await t.resolves(played('! ignore noise\na> {"id":1,"method":"m"}\na< {"id":1,"...":true}', noisy))
    await t.rejects(played('a> {"id":1,"method":"m"}\na< {"id":1,"...":true}', noisy), { message: /at \/id: missing/ })
  })
  t.end()
})
