import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { versionOf } from '../../../src/engine/settings/config-file.ts'
import type { ConfigEdit } from '../../../src/engine/settings/edits.ts'
import { replaceFile } from '../../../src/engine/settings/replace-file.ts'
import { parseToml } from '../../../src/engine/settings/toml.ts'
import { editToml } from '../../../src/engine/settings/toml-edit.ts'
import { isUnsafeKey, sameValue, valueAt, withValue } from '../../../src/engine/settings/tree.ts'
import { place, refusal } from './home.ts'

const edit = (keyPath: string, value: Json, mergeStrategy: ConfigEdit['mergeStrategy'] = 'replace'): ConfigEdit => ({
  keyPath,
  value,
  mergeStrategy,
})

const COMMENTED = `# mine
model = "gpt-5.4" # the good one
approval_policy = "never"

[model_providers.mock] # local
name = "mock"
headers = { a = "1" }
list = [
  "x", # first
]
[projects."/a/b"]
trust_level = "trusted"

[features]
# end
`

/** What one edit makes of `before`. */
async function after(before: string, ...edits: readonly ConfigEdit[]): Promise<string> {
  const { home, load } = place(t, { 'home/config.toml': before })
  await load().write({ edits })
  return readFileSync(join(home, 'config.toml'), 'utf8')
}

t.test('it changes only what it was asked to change', async t => {
  const replaced = (from: string, to: string): string => COMMENTED.replace(from, to)
  t.equal(await after(COMMENTED, edit('model', 'x')), replaced('"gpt-5.4"', '"x"'))
  t.equal(await after(COMMENTED, edit('approval_policy', null)), replaced('approval_policy = "never"\n', ''))
  t.equal(await after(COMMENTED, edit('model_providers.mock.headers.a', '2')), replaced('"1"', '"2"'))
  t.equal(
    await after(COMMENTED, edit('sandbox_mode', 'read-only')),
    replaced('"never"\n', '"never"\nsandbox_mode = "read-only"\n'),
  )
  t.equal(
    await after(COMMENTED, edit('projects."/new dir.x".trust_level', 'trusted', 'upsert')),
    `${COMMENTED}\n[projects."/new dir.x"]\ntrust_level = "trusted"\n`,
  )
  t.equal(
    await after(
      COMMENTED,
      edit('mcp_servers.x', { command: 'true' }),
      edit('mcp_servers.x', { args: ['a'] }, 'upsert'),
    ),
    `${COMMENTED}\n[mcp_servers.x]\ncommand = "true"\nargs = [ "a" ]\n`,
  )
  t.equal(await after(COMMENTED, edit('nothing.here', null)), COMMENTED)
  t.equal(await after(COMMENTED), COMMENTED)
})

t.test('it merges on upsert, replaces on replace, and leaves emptied tables', async t => {
  const table = async (...edits: readonly ConfigEdit[]) => parseToml(await after('z = { m = { n = 1 } }\n', ...edits))
  t.strictSame(await table(edit('z.m', { o: 2 }, 'upsert')), { z: { m: { n: 1, o: 2 } } })
  t.strictSame(await table(edit('z.m', { o: 2 }, 'replace')), { z: { m: { o: 2 } } })
  t.strictSame(await table(edit('z', 5, 'upsert')), { z: 5 })
  t.strictSame(await table(edit('z.m.n', null)), { z: { m: {} } })
  t.strictSame(await table(edit('a.b.c', [1, 2.5, { d: true }])), {
    z: { m: { n: 1 } },
    a: { b: { c: [1, 2.5, { d: true }] } },
  })
  t.strictSame(await table(edit('e', {})), { z: { m: { n: 1 } }, e: {} })
  t.strictSame(await table(edit('a."b.c"', 1), edit("a.'", 2)), { z: { m: { n: 1 } }, a: { 'b.c': 1, "'": 2 } })
})

t.test('it keeps CRLF, a byte order mark, dates, floats, big numbers and unknown keys', async t => {
  const odd =
    '\ufeffwhen = 1979-05-27T07:32:00Z\r\nbig = 9223372036854775807\r\nf = 1.0\r\nn = nan\r\n# c\r\n[x]\r\ny = 1\r\n'
  t.equal(await after(odd, edit('x.y', 2)), odd.replace('y = 1', 'y = 2'))
  t.equal(await after(odd, edit('p.q', 'r')), `${odd}\r\n[p]\r\nq = "r"\r\n`)
})

t.test('it says the version of what it wrote; the same content has the same version', async t => {
  const { home, load } = place(t, { 'home/config.toml': COMMENTED })
  const settings = load()
  const path = join(home, 'config.toml')
  const ok = { status: 'ok', filePath: path, overriddenMetadata: null }
  const first = versionOf(COMMENTED)
  const second = await settings.write({ edits: [edit('model', 'x')], expectedVersion: first })
  t.strictSame(second, { ...ok, version: versionOf(readFileSync(path)) })
  t.strictSame(await refusal(() => settings.write({ edits: [edit('model', 'y')], expectedVersion: first })), {
    code: 'configConflict',
    message: 'Configuration was modified since last read. Fetch latest version and retry.',
  })
  const back = await settings.write({ edits: [edit('model', 'gpt-5.4')], expectedVersion: second.version })
  t.strictSame(back, { ...ok, version: first })
  t.equal(readFileSync(path, 'utf8'), COMMENTED)
  const none = place(t).load()
  t.match(await none.write({ edits: [edit('a', 1)], expectedVersion: versionOf('') }), { status: 'ok' })
})

t.test('it refuses bad edits in the words of codex and writes nothing', async t => {
  const { home, load } = place(t, { 'home/config.toml': COMMENTED })
  const settings = load()
  const before = statSync(join(home, 'config.toml'))
  const nullValue = 'invalid value: invalid type: null, expected any valid TOML value'
  const cases: readonly [ConfigEdit | readonly ConfigEdit[], string][] = [
    [edit('model', 5), 'Invalid configuration: invalid type: integer `5`, expected a string\nin `model`\n'],
    [
      [edit('sandbox_mode', 'read-only'), edit('approval_policy', 'bogus')],
      'Invalid configuration: unknown variant `bogus`, expected one of `untrusted`, `on-failure`, `on-request`, `granular`, `never`\nin `approval_policy`\n',
    ],
    [edit('', 1), 'keyPath must not be empty'],
    [edit(' ', 1), 'keyPath must not be empty'],
    [edit('a..b', 1), 'keyPath segments must not be empty'],
    [edit('.a', 1), 'keyPath segments must not be empty'],
    [edit('a.', 1), 'keyPath segments must not be empty'],
    [edit('a.""', 1), 'keyPath segments must not be empty'],
    [edit('"a', 1), 'unterminated quoted keyPath segment'],
    [edit('a"b', 1), 'invalid quoted keyPath segment'],
    [edit('"a"b', 1), 'invalid quoted keyPath segment'],
    [edit('x'.repeat(5000), 1), 'keyPath must not be longer than 4096 characters'],
    [edit('model.x', 1), 'cannot set value on non-table parent'],
    [edit('z', [1, null]), nullValue],
    [edit('z', { a: { b: null } }), nullValue],
    [
      edit('profile', 'x'),
      '`profile` is a legacy config selector and can no longer be written; use `--profile <name>` with `<name>.config.toml` instead',
    ],
    [edit('__proto__.polluted', 1), 'keyPath segment `__proto__` is not allowed'],
    [edit('a."constructor"', 1), 'keyPath segment `constructor` is not allowed'],
    [edit('prototype', null), 'keyPath segment `prototype` is not allowed'],
    [edit('a', JSON.parse('{"__proto__":{"polluted":1}}')), 'key `__proto__` is not allowed'],
    [edit('a', nested(100)), 'configuration is nested deeper than 64 levels'],
    [edit('a', 'x'.repeat(1024 * 1024)), 'config.toml would exceed 1048576 bytes'],
    [edit('a', '\ud800'), '`a` cannot be written without changing other settings'],
    [Array.from({ length: 257 }, () => edit('a', 1)), 'a batch must not have more than 256 edits'],
  ]
  for (const [edits, message] of cases) {
    const got = await refusal(() => settings.write({ edits: [edits].flat() as ConfigEdit[] }))
    t.strictSame(got, { code: 'configInvalid', message }, message.slice(0, 60))
  }
  for (const filePath of ['/tmp/other.toml', 'config.toml', home, '', `${home}/config.toml\0`, '../config.toml']) {
    t.strictSame(await refusal(() => settings.write({ edits: [edit('model', 'x')], filePath })), {
      code: 'configReadonly',
      message: 'Only writes to the user config are allowed',
    })
  }
  t.equal(readFileSync(join(home, 'config.toml'), 'utf8'), COMMENTED)
  t.equal(statSync(join(home, 'config.toml')).ino, before.ino)
  t.strictSame(readdirSync(home), ['config.toml'])
  t.equal(({} as Record<string, unknown>).polluted, undefined)
  const filePath = join(home, '../home/config.toml')
  t.match(await settings.write({ edits: [], filePath: `${home}/../home/config.toml` }), { filePath }, 'the same file')
})

const nested = (levels: number): Json => (levels === 0 ? 1 : { a: nested(levels - 1) })

t.test('it refuses a file that is no TOML, and mends one with a bad value', async t => {
  const { home, put, load } = place(t, { 'home/config.toml': 'oops\n' })
  t.strictSame(await refusal(() => load().write({ edits: [edit('model', 'x')] })), {
    code: 'configInvalid',
    message: `failed to load configuration: ${home}/config.toml:1:5: key with no value, expected \`=\``,
  })
  put('home/config.toml', 'model = 5\n')
  t.match(await refusal(() => load().write({ edits: [edit('a', 1)] })), { message: /^Invalid configuration: / })
  await load().write({ edits: [edit('model', 'x')] })
  t.equal(readFileSync(join(home, 'config.toml'), 'utf8'), 'model = "x"\n')
})

t.test('it tells when the command line or a profile says something else', async t => {
  const { home, load } = place(t, {
    'home/config.toml': '',
    'home/p.config.toml': 'model = "p"\npersonality = "none"\n',
  })
  const settings = load({ profile: 'p', flags: ['model=flag', 'sandbox_workspace_write.network_access=true'] })
  const version = (text: string): string => versionOf(text)
  const flags = { source: { type: 'flags' }, version: version(FLAGS) }
  t.match(await settings.write({ edits: [edit('a', 1), edit('model', 'x')] }), {
    status: 'okOverridden',
    overriddenMetadata: { message: 'Overridden by session flags', layer: flags, effectiveValue: 'flag' },
  })
  t.match(await settings.write({ edits: [edit('sandbox_workspace_write', { network_access: false }, 'upsert')] }), {
    status: 'okOverridden',
    overriddenMetadata: { layer: flags, effectiveValue: { network_access: true } },
  })
  t.match(await settings.write({ edits: [edit('personality', 'friendly')] }), {
    status: 'okOverridden',
    overriddenMetadata: {
      message: 'Overridden by profile p',
      layer: { source: { type: 'user', file: join(home, 'p.config.toml'), profile: 'p' } },
      effectiveValue: 'none',
    },
  })
  t.match(await settings.write({ edits: [edit('model', 'flag')] }), { status: 'ok', overriddenMetadata: null })
})

const FLAGS = '{"model":"flag","sandbox_workspace_write":{"network_access":true}}'

t.test('it makes the file for its owner alone, and keeps the mode of one that is there', async t => {
  const { home, load } = place(t)
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const deep = join(home, 'a/b')
  await load({ home: deep }).write({ edits: [edit('model', 'x')] })
  const mode = (path: string): number => statSync(path).mode & 0o777
  t.strictSame([mode(home), mode(deep), mode(join(deep, 'config.toml'))], [0o700, 0o700, 0o600])
  chmodSync(join(deep, 'config.toml'), 0o640)
  await load({ home: deep }).write({ edits: [edit('model', 'y')] })
  t.equal(mode(join(deep, 'config.toml')), 0o640)
})

t.test('it writes through a symlink, also one whose target is not there yet', async t => {
  const { home, put, load } = place(t, { 'dots/skein.toml': 'model = "a"\n' })
  mkdirSync(home)
  const target = put('dots/skein.toml', 'model = "a"\n')
  const link = join(home, 'config.toml')
  symlinkSync('../dots/link.toml', link)
  symlinkSync('new.toml', join(target, '../link.toml'))
  await load().write({ edits: [edit('model', 'b')] })
  t.equal(readlinkSync(link), '../dots/link.toml')
  t.equal(readFileSync(join(target, '../new.toml'), 'utf8'), 'model = "b"\n')
  await load().write({ edits: [edit('model', 'c')] })
  t.ok(lstatSync(link).isSymbolicLink())
  t.equal(readFileSync(link, 'utf8'), 'model = "c"\n')
  t.strictSame(readdirSync(join(target, '..')).sort(), ['link.toml', 'new.toml', 'skein.toml'])
})

t.test('it reports a file system that refuses, and leaves nothing behind', async t => {
  const { home, put, load } = place(t)
  put('home', 'a file where the folder should be')
  t.match(await refusal(() => load().write({ edits: [edit('a', 1)] })), { code: 'storage', message: /^cannot write / })
  const loop = place(t)
  mkdirSync(loop.home)
  symlinkSync('config.toml', join(loop.home, 'config.toml'))
  t.match(await refusal(() => loop.load().write({ edits: [edit('a', 1)] })), { code: 'configInvalid' })
  t.strictSame(readdirSync(loop.home), ['config.toml'])
  t.equal(readFileSync(home, 'utf8').length, 33)
})

t.test('it loses nothing when many write at once', async t => {
  const { home, load } = place(t)
  const sources = [load(), load()]
  const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((key, i) => sources[i % 2]!.write({ edits: [edit(`t.${key}`, i)] })))
  t.strictSame(load().resolve({ cwd: home }).table, { t: Object.fromEntries(keys.map((key, i) => [key, i])) })
  const version = versionOf(readFileSync(join(home, 'config.toml')))
  const race = await Promise.allSettled(
    keys.map(key => sources[0]!.write({ edits: [edit(key, 1)], expectedVersion: version })),
  )
  t.equal(race.filter(({ status }) => status === 'fulfilled').length, 1, 'one wins, the others see a conflict')
})

t.test('it starts over when another program writes meanwhile', async t => {
  const { home, load } = place(t, { 'home/config.toml': 'a = 1\n' })
  const path = join(home, 'config.toml')
  const write = load().write({ edits: [edit('p.q', 1)] })
  // By now the write has read the file, and has everything before it that needs the disk.
  await Promise.resolve()
  writeFileSync(path, 'a = 1\nb = 2\n')
  await write
  t.strictSame(load().resolve({ cwd: home }).table, { a: 1, b: 2, p: { q: 1 } })
  t.equal(await replaceFile(path, 'lost', () => false), false)
  t.strictSame([readdirSync(home), readFileSync(path, 'utf8').includes('lost')], [['config.toml'], false])
})

t.test('whatever is edited, the result says exactly that and keeps the comments', async () => {
  const key = fc.oneof(
    fc.constantFrom('a', 'b', 'model', 'x.y', 'é', '"', 'a b'),
    fc.string({ minLength: 1, maxLength: 5 }),
  )
  const scalar = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
  const value = fc.letrec<{ value: Json }>(tie => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value
  const path = fc.array(key, { minLength: 1, maxLength: 3 })
  const start = `# one\n\na = 1 # two\n\n# three\n[b] # four\nmodel = { "x.y" = [1, 2] } # five\n`
  const property = fc.asyncProperty(
    fc.array(fc.tuple(path, fc.option(value, { nil: undefined })), { maxLength: 4 }),
    async edits => {
      let text = start
      for (const [at, to] of edits) {
        const table = parseToml(text) as JsonObject
        const possible = to === undefined || withValue(table, at, to) !== undefined
        if (!possible || at.some(isUnsafeKey)) continue
        text =
          (await editToml(text, { path: at, value: to })) ?? fail(`nothing writes ${JSON.stringify([text, at, to])}`)
        if (to !== undefined && !sameValue(valueAt(parseToml(text) as JsonObject, at), to))
          fail('something else was written')
      }
      // A comment goes with the line it belongs to; the one that stands alone above a table stays while the table does.
      return valueAt(parseToml(text) as JsonObject, ['b']) === undefined || text.includes('# one')
    },
  )
  await fc.assert(property, { numRuns: 200 })
})

const fail = (message: string): never => {
  throw new Error(message)
}
