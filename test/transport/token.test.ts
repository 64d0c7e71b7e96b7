import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { bearerCheck, createTokenFile, defaultTokenFile, readToken } from '../../src/transport/token.ts'

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const good = 'a'.repeat(32)

t.test('it makes a token of 256 bits that only its owner can read, whatever the umask', async t => {
  const old = process.umask(0)
  t.teardown(() => process.umask(old))
  const path = defaultTokenFile(join(t.testdir(), 'home'))
  createTokenFile(path)
  const token = readToken(path)
  t.equal(Buffer.from(token, 'base64url').length, 32)
  t.strictSame([mode(path), mode(dirname(path)), mode(dirname(dirname(path)))], ['600', '700', '700'])
  createTokenFile(path)
  t.equal(readToken(path), token, 'one that is there is kept')
  t.strictSame(readdirSync(dirname(path)), ['ws-token'], 'no draft is left')
})

t.test('it gives servers that start together one token', async t => {
  const path = defaultTokenFile(t.testdir())
  const module = new URL('../../src/transport/token.ts', import.meta.url).href
  const program = `
    import { createTokenFile, readToken } from ${JSON.stringify(module)}
    for (let n = 0; n < 25; n++) {
      createTokenFile(${JSON.stringify(path)})
      console.log(readToken(${JSON.stringify(path)}))
    }`
  const args = ['--import=tsx', '--input-type=module', '-e', program]
  const runs = await Promise.all(Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, args)))
  const tokens = new Set(runs.flatMap(({ stdout }) => stdout.trim().split('\n')))
  t.strictSame([...tokens], [readToken(path)])
})

t.test('it reads a token with blanks behind it', async t => {
  const path = join(t.testdir(), 'token')
  for (const text of [good, `${good}\n`, `${good} \r\n\n`]) {
    writeFileSync(path, text, { mode: 0o600 })
    t.equal(readToken(path), good)
  }
})

t.test('it refuses a file that is no safe token, and says why', async t => {
  const dir = t.testdir()
  const refuses = (name: string, fault: RegExp): void => {
    const path = join(dir, name)
    t.throws(() => readToken(path), { message: new RegExp(`^the websocket token file ${path} ${fault.source}$`) }, name)
  }
  const write = (name: string, text: string | Buffer): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 })
    return join(dir, name)
  }
  refuses('missing', /does not exist/)
  write('empty', '')
  refuses('empty', /is empty/)
  write('blank', '  \n')
  refuses('blank', /is empty/)
  write('short', 'a'.repeat(31))
  refuses('short', /holds fewer than 32 characters/)
  write('two', `${good}\n${good}\n`)
  refuses('two', /has more than one line/)
  write('nul', `${good}\0`)
  refuses('nul', /holds characters that no header can carry/)
  write('space', `${good} ${good}`)
  refuses('space', /holds characters that no header can carry/)
  write('latin1', Buffer.alloc(40, 0xe9))
  refuses('latin1', /holds characters that no header can carry/)
  write('huge', 'a'.repeat(100_000))
  refuses('huge', /is larger than 8192 bytes/)
  for (const open of [0o644, 0o640, 0o602, 0o610]) {
    chmodSync(write(`mode${open}`, good), open)
    refuses(`mode${open}`, /can be read by others: run chmod 600 on it/)
  }
  symlinkSync(write('target', good), join(dir, 'link'))
  refuses('link', /is a symbolic link/)
  mkdirSync(join(dir, 'directory'), { mode: 0o700 })
  refuses('directory', /is not a regular file/)
  await promisify(execFile)('mkfifo', ['-m', '600', join(dir, 'fifo')])
  refuses('fifo', /is not a regular file/)
  t.equal(readFileSync(join(dir, 'target'), 'utf8'), good)
})

t.test(
  'it refuses the file of another user',
  { skip: process.getuid?.() !== 0 && 'only root can make one' },
  async t => {
    const path = join(t.testdir(), 'token')
    writeFileSync(path, good, { mode: 0o600 })
    const { chownSync } = await import('node:fs')
    chownSync(path, 1, 1)
    t.throws(() => readToken(path), { message: /belongs to another user$/ })
  },
)

t.test('it checks a header as codex does', async t => {
  const check = bearerCheck(good)
  const texts = (headers: readonly string[], text: string | null): void =>
    void t.equal(check(headers), text, String(headers))
  texts([`Bearer ${good}`], null)
  texts([`bEARER   ${good} `], null)
  texts([], 'missing websocket bearer token')
  for (const bad of ['', 'Bearer', 'Bearer ', good, `Basic ${good}`, `Bearer:${good}`])
    texts([bad], 'invalid authorization header')
  texts([`Bearer ${good}`, `Bearer ${good}`], 'invalid authorization header')
  for (const wrong of [good.slice(1), `${good}a`, good.toUpperCase(), 'x', `${good} ${good}`, 'é'.repeat(16)]) {
    texts([`Bearer ${wrong}`], 'invalid websocket bearer token')
  }
})
