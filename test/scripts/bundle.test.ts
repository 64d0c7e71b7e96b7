import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { type BundleOptions, bundle, optionalPackages } from '../../scripts/bundle.ts'

/** A CommonJS package that is only known when it runs, as ws is. */
const PACKAGE = `const { EventEmitter } = require('node:events'); exports.isEmitter = new EventEmitter() instanceof EventEmitter`
const MAIN = `const [word] = process.argv.slice(2)
if (word === 'heavy') console.log((await import('./heavy.ts')).say())
else console.log('light')`
const HEAVY = `import common from 'common'
export function say(): string { return \`heavy \${common.isEmitter}\` }`

function project(t: Test): BundleOptions {
  const folder = t.testdir({
    'package.json': '{"type":"module"}',
    src: { 'main.ts': MAIN, 'heavy.ts': HEAVY },
    node_modules: { common: { 'package.json': '{"name":"common","main":"index.js"}', 'index.js': PACKAGE } },
  })
  return { entry: join(folder, 'src/main.ts'), outdir: join(folder, 'dist'), sourcemap: false, external: [] }
}

async function run(options: BundleOptions, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(join(options.outdir, 'skein.js'), args)
  return stdout.trim()
}

t.test('it makes a program whose start-up reads only the entry', async t => {
  const options = project(t)
  await bundle(options)
  const entry = readFileSync(join(options.outdir, 'skein.js'), 'utf8')
  t.match(entry, /^#!\/usr\/bin\/env node\n/)
  t.notMatch(entry, /createRequire|^import/m, 'nothing heavy is imported statically')
  t.equal(statSync(join(options.outdir, 'skein.js')).mode & 0o777, 0o755)
  t.same(await Promise.all([run(options), run(options, 'heavy')]), ['light', 'heavy true'])
  t.same(readdirSync(options.outdir).sort(), ['chunks', 'skein.js'], 'no source map, nothing half-written')
})

t.test('it may run twice at once and again', async t => {
  const options = project(t)
  await Promise.all([bundle(options), bundle(options)])
  await bundle({ ...options, sourcemap: true })
  t.equal(await run(options, 'heavy'), 'heavy true')
  t.same(readdirSync(options.outdir).sort(), ['chunks', 'skein.js', 'skein.js.map'])
})

t.test('it keeps the chunks of a build that may still run and removes older ones', async t => {
  const options = project(t)
  const chunks = join(options.outdir, 'chunks')
  mkdirSync(chunks, { recursive: true })
  for (const name of ['recent.js', 'old.js']) writeFileSync(join(chunks, name), '')
  utimesSync(join(chunks, 'old.js'), 1, 1)
  await bundle(options)
  const left = readdirSync(chunks)
  t.equal(left.includes('recent.js'), true)
  t.equal(left.includes('old.js'), false)
})

t.test('it leaves the old program in place when a build fails', async t => {
  const options = project(t)
  await bundle(options)
  writeFileSync(join(options.entry, '../heavy.ts'), "import './nowhere.ts'")
  await t.rejects(bundle({ ...options }))
  t.equal(await run(options, 'heavy'), 'heavy true')
})

t.test('it does not bundle what may not be installed', async t => {
  const manifest = join(
    t.testdir({ 'package.json': '{"optionalDependencies":{"a":"1"},"peerDependencies":{"b":"1"}}' }),
    'package.json',
  )
  t.same(await optionalPackages(manifest), ['a', 'b'])
  t.type(await optionalPackages(fileURLToPath(new URL('../../package.json', import.meta.url))), Array)
})
