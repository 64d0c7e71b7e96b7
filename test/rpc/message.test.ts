import fc from 'fast-check'
import t from 'tap'
import type { Incoming } from '../../src/rpc/message.ts'
import { errorFrame, notificationFrame, readMessage, requestFrame, responseFrame } from '../../src/rpc/message.ts'

const invalid = (id: string | null, reason: string): Incoming => {
  return { kind: 'invalid', id, code: -32600, message: `Invalid request: ${reason}` }
}
const request = (id: string): Incoming => ({ kind: 'request', id, method: 'm', params: undefined })

t.test('readMessage', t => {
  t.test('it tells requests, notifications, results and failures apart', async t => {
    t.strictSame(readMessage('{"id":7,"method":"m","params":{"a":[1]}}'), {
      kind: 'request',
      id: '7',
      method: 'm',
      params: { a: [1] },
    })
    t.strictSame(readMessage('{"method":"m","params":null}'), { kind: 'notification', method: 'm', params: null })
    t.strictSame(readMessage('{"id":0,"result":null}'), { kind: 'result', id: '0', result: null })
    t.strictSame(readMessage('{"id":0,"error":{"code":1}}'), { kind: 'failure', id: '0', error: { code: 1 } })
    t.strictSame(readMessage('{"jsonrpc":"1.0","id":1,"method":"m","extra":{}}'), request('1'))
    t.strictSame(readMessage('{"id":1,"method":"m","result":1}'), request('1'), 'a method makes it a request')
    t.strictSame(readMessage('{"id":1,"method":null,"result":1}'), { kind: 'result', id: '1', result: 1 })
    for (const blank of ['', ' ', '\t\r']) t.strictSame(readMessage(blank), { kind: 'blank' })
  })

  t.test('it keeps the text of an id as it came', async t => {
    const ids = [
      '0',
      '-1',
      '9007199254740993',
      '9223372036854775807',
      '-9223372036854775808',
      '""',
      '"a b"',
      '"\\u03b1"',
    ]
    ids.push('"α-1"', '"\\ud800"', '"\\\\"', '"\\""', '"]}"', '"id\\":1"')
    for (const id of ids) {
      t.strictSame(readMessage(`{"id":${id},"method":"m"}`), request(id))
      t.strictSame(readMessage(`{ "method" : "m" , "id" : ${id} }`), request(id), 'with blanks, and last')
    }
    t.strictSame(readMessage('{"\\u0069d":5,"method":"m"}'), request('5'), 'an escaped key is the same key')
    t.match(readMessage('{"params":{"id":1,"x":["id",{"id":2}]},"id":3,"method":"m"}'), { id: '3' }, 'not a nested one')
  })

  t.test('it refuses ids that cannot be echoed', async t => {
    const reason = 'the id must be a string or a 64-bit integer'
    const ids = ['1.5', '1.0', '1e3', 'null', 'true', '{}', '[1]', '9223372036854775808', '-9223372036854775809']
    for (const id of [...ids, '9'.repeat(400)]) {
      t.strictSame(readMessage(`{"id":${id},"method":"m"}`), invalid(null, reason))
      t.strictSame(readMessage(`{"id":${id},"result":1}`), invalid(null, reason))
    }
  })

  t.test('it answers nothing to an error without an id', async t => {
    const failure = { kind: 'failure', id: 'null', error: {} }
    t.strictSame(readMessage('{"error":{},"id":null}'), failure)
    t.strictSame(readMessage('{"error":{}}'), failure)
  })

  t.test('it refuses what is no message, with the id where there is one', async t => {
    t.strictSame(readMessage('{}'), invalid(null, 'missing field `method`'))
    t.strictSame(readMessage('{"id":5}'), invalid('5', 'missing field `method`'))
    t.strictSame(readMessage('{"result":1}'), invalid(null, 'missing field `method`'))
    t.strictSame(readMessage('{"id":5,"method":7}'), invalid('5', 'the method must be a string'))
    t.strictSame(readMessage('{"id":5,"method":null}'), invalid('5', 'the method must be a string'))
    for (const other of ['[]', '[{"id":1,"method":"m"}]', '1', 'null', '"x"', 'true', ' [ ] ']) {
      t.strictSame(readMessage(other), invalid(null, 'expected one message object'))
    }
  })

  t.test('it answers malformed JSON with a parse error without id', async t => {
    const texts = [
      'this is not json',
      '{"id":1,"method":"m","params":{',
      '{"id":1,}',
      '{"id":1,"method":"m"}{"id":2}',
      '\0\0',
    ]
    texts.push(
      '{"id":1\n',
      '"',
      '{"',
      '{"a\\',
      '}',
      ']',
      '[',
      '{"id":01,"method":"m"}',
      '{"id":1 "method":"m"}',
      '\ufffd',
    )
    for (const text of texts) {
      t.match(readMessage(text), { kind: 'invalid', id: null, code: -32700, message: /^Parse error: ./ }, text)
    }
    t.ok(JSON.stringify(readMessage('x'.repeat(1_000_000))).length < 300, 'and does not repeat it all')
  })

  t.test('it refuses a key given twice, with the id that comes first', async t => {
    t.strictSame(readMessage('{"id":1,"id":2,"method":"m"}'), invalid('1', 'duplicate field `id`'))
    t.strictSame(readMessage('{"id":1,"method":"a","method":"b"}'), invalid('1', 'duplicate field `method`'))
    t.strictSame(readMessage('{"method":"a","\\u006dethod":"b"}'), invalid(null, 'duplicate field `method`'))
    t.strictSame(readMessage('{"id":1,"method":"m","x":1,"x":2}'), invalid('1', 'duplicate field `x`'))
    t.match(
      readMessage('{"id":1,"method":"m","params":{"x":1,"x":2}}'),
      { kind: 'request' },
      'inside params it is not ours',
    )
    const long = JSON.stringify('k'.repeat(100_000))
    t.ok(JSON.stringify(readMessage(`{"id":1,${long}:1,${long}:2}`)).length < 300, 'and does not repeat a long one')
    const many = Array.from({ length: 100 }, (_, n) => `"k${n}":0`).join()
    t.strictSame(readMessage(`{"id":1,"method":"m",${many}}`), invalid('1', 'more than 64 top-level fields'))
  })

  t.test('it takes 128 levels and refuses more without parsing', async t => {
    const nested = (levels: number): string => {
      return `{"id":1,"method":"m","params":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    }
    t.match(readMessage(nested(128)), { kind: 'request', id: '1' })
    t.strictSame(readMessage(nested(129)), invalid('1', 'nested deeper than 128 levels'))
    t.strictSame(readMessage(nested(5_000_000)), invalid('1', 'nested deeper than 128 levels'))
    t.strictSame(readMessage('['.repeat(5_000_000)), invalid(null, 'nested deeper than 128 levels'))
    t.strictSame(readMessage('{"a":'.repeat(1_000_000)), invalid(null, 'nested deeper than 128 levels'))
    const tail = `${'['.repeat(200)}${']'.repeat(200)}`
    t.match(readMessage(`{"params":${tail},"id":"z","method":"m"}`), { id: '"z"' }, 'an id behind it is found')
    t.match(readMessage(`{"id":"\\q","params":${tail}}`), { id: null }, 'an id that is no JSON is not echoed')
    t.match(readMessage(`{"id":1,"method":"m","params":"${'['.repeat(200)}"}`), { kind: 'request' }, 'not in strings')
  })

  t.test('it takes time proportional to the length of hostile strings', async t => {
    t.match(readMessage(`{"id":1,"method":"${'\\"'.repeat(1_000_000)}"}`), { kind: 'request' })
    t.match(readMessage(`{"id":1,"method":"${'\\\\'.repeat(1_000_000)}"}`), { kind: 'request' })
  })

  t.test('it agrees with JSON.parse about every message', async t => {
    const key = fc.constantFrom('id', 'method', 'params', 'result', 'error', 'jsonrpc', '__proto__', 'i\\d', 'a"b')
    const id = fc.oneof(fc.string({ unit: 'binary' }), fc.maxSafeInteger(), fc.double(), fc.constant(null))
    const message = fc.dictionary(key, fc.oneof(fc.jsonValue(), id, fc.constant('m')), { noNullPrototype: true })
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(message, fc.constantFrom(undefined, 2, '\t'), (sent, space) => {
          const text = JSON.stringify(sent, null, space)
          const got = readMessage(text)
          if (got.kind === 'blank') return false
          if ('id' in got && got.id !== null && got.id !== 'null')
            return Object.is(JSON.parse(got.id), JSON.parse(text).id)
          return got.kind !== 'invalid' || got.code === -32600
        }),
        { numRuns: 2000 },
      ),
    )
  })

  t.test('it never throws, and only says what can be sent back', async t => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      'id',
      '"id"',
      '"method"',
      '1',
      ' ',
      '\u0000',
      '\ud800',
    )
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(
          fc.oneof(
            fc.string({ unit: 'binary' }),
            fc.array(piece).map(pieces => pieces.join('')),
          ),
          text => {
            const got = readMessage(text)
            if (got.kind === 'invalid') JSON.parse(errorFrame(got.id, got).bytes.toString())
            return true
          },
        ),
        { numRuns: 5000 },
      ),
    )
  })
  t.end()
})

t.test('frames', async t => {
  const text = (frame: { bytes: Buffer }): string => frame.bytes.toString()
  t.equal(text(responseFrame('9007199254740993', { a: 1 })), '{"id":9007199254740993,"result":{"a":1}}\n')
  t.equal(text(responseFrame('"x"', undefined)), '{"id":"x","result":null}\n')
  t.equal(
    text(errorFrame(null, { code: -32700, message: 'no' })),
    '{"error":{"code":-32700,"message":"no"},"id":null}\n',
  )
  t.equal(
    text(errorFrame('1', { code: 1, message: 'no', data: { a: 1 } })),
    '{"error":{"code":1,"message":"no","data":{"a":1}},"id":1}\n',
  )
  t.equal(text(notificationFrame('m', { a: 1 })), '{"method":"m","params":{"a":1}}\n')
  t.equal(text(notificationFrame('m')), '{"method":"m"}\n')
  t.equal(text(requestFrame(3, 'm', {})), '{"method":"m","id":3,"params":{}}\n')
  t.equal(
    text(notificationFrame('m', { lone: '\ud800', line: 'a\nb' })),
    '{"method":"m","params":{"lone":"\\ud800","line":"a\\nb"}}\n',
  )
  const loop: { self?: unknown } = {}
  loop.self = loop
  t.match(JSON.parse(text(responseFrame('1', loop))), {
    id: 1,
    error: { code: -32603, message: /could not be encoded/ },
  })
  t.match(JSON.parse(text(responseFrame('1', 1n))), { id: 1, error: { code: -32603 } })
})
