import t from 'tap'
import { seconds } from '../../src/base/clock.ts'
import { isUuid, newId } from '../../src/base/ids.ts'
import { createLogger, printable } from '../../src/base/log.ts'
import { absolute, skeinHome } from '../../src/base/paths.ts'

t.test('it makes hidden characters visible and leaves text alone', async t => {
  t.equal(printable('a\u001b[31mb'), 'a\\u{1b}[31mb')
  t.equal(printable('safe\u202egpj.exe'), 'safe\\u{202e}gpj.exe')
  t.equal(printable('r\u200bm'), 'r\\u{200b}m')
  t.equal(printable('\ufeffx'), '\\u{feff}x')
  t.equal(printable('tab\tline\nGrüße 日本 👍'), 'tab\tline\nGrüße 日本 👍')
})

t.test('it logs one line a message, from a level on', async t => {
  const lines: string[] = []
  const log = createLogger('info', line => void lines.push(line))
  log.debug('quiet')
  log.info('hello', { n: 1 })
  log.error('bell \u0007')
  t.strictSame(lines, ['skein info hello {"n":1}\n', 'skein error bell \\u{7}\n'])
})

t.test('it knows ids, times and places', async t => {
  t.ok(isUuid(newId()))
  t.ok(isUuid('00000000-0000-7000-8000-000000000000'))
  t.notOk(isUuid('bogus'))
  t.notOk(isUuid(`${newId()}x`))
  const [earlier, later] = [newId(), newId()]
  t.ok(earlier < later, 'later ids sort behind earlier ones')
  t.equal(seconds(1_999), 1)
  t.equal(skeinHome({ SKEIN_HOME: '/s', HOME: '/h', CODEX_HOME: '/c' }), '/s')
  t.equal(skeinHome({ HOME: '/h', CODEX_HOME: '/c' }), '/h/.skein')
  t.equal(absolute('x', '/b'), '/b/x')
  t.equal(absolute('/x', '/b'), '/x')
})
