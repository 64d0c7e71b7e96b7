import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type BuildResult, build, type OutputFile } from 'esbuild'

export interface BundleOptions {
  /** The module that `skein.js` runs. */
  readonly entry: string
  /** Where `skein.js` and the folder `chunks` go. */
  readonly outdir: string
  readonly sourcemap: boolean
  /** Packages that stay imports, because they are native or not always installed. */
  readonly external: readonly string[]
}

/** CommonJS packages ask for Node's own modules with `require`, which an ES module has to make for itself. */
const REQUIRE =
  "import{createRequire as __makeRequire}from'node:module';const require=__makeRequire(import.meta.url);\n"
/** A chunk that no build has written for this long belongs to none that still runs or is being made. */
const STALE_MS = 10 * 60_000

/**
 * Bundles the program as ES modules: what is imported with `import()` becomes a chunk of its own that start-up never reads.
 * Every file is written beside its place and renamed, the entry last, so builds may overlap and a server may start meanwhile.
 */
export async function bundle(options: BundleOptions): Promise<void> {
  const { outputFiles } = await compile(options)
  await mkdir(join(options.outdir, 'chunks'), { recursive: true })
  const isEntry = ({ path }: OutputFile) => dirname(path) === options.outdir
  await Promise.all(outputFiles.filter(file => !isEntry(file)).map(place))
  await Promise.all(outputFiles.filter(isEntry).map(place))
  await removeStale(
    join(options.outdir, 'chunks'),
    outputFiles.map(({ path }) => basename(path)),
  )
}

function compile({ entry, outdir, sourcemap, external }: BundleOptions): Promise<BuildResult<{ write: false }>> {
  return build({
    entryPoints: { skein: entry },
    outdir,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    chunkNames: 'chunks/[name]-[hash]',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    sourcemap,
    external: [...external],
    logLevel: 'warning',
  })
}

async function place({ path, text }: OutputFile): Promise<void> {
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}.${Math.random().toString(36).slice(2)}`)
  await writeFile(beside, withHead(path, text))
  if (isProgram(path)) await chmod(beside, 0o755)
  await rename(beside, path)
}

function withHead(path: string, text: string): string {
  const head = isProgram(path) && !text.startsWith('#!') ? '#!/usr/bin/env node\n' : ''
  const needsRequire = path.endsWith('.js') && text.includes('typeof require')
  if (!needsRequire) return head + text
  const [first = '', ...rest] = text.split('\n')
  return first.startsWith('#!') ? `${first}\n${REQUIRE}${rest.join('\n')}` : head + REQUIRE + text
}

function isProgram(path: string): boolean {
  return basename(path) === 'skein.js'
}

async function removeStale(folder: string, current: readonly string[]): Promise<void> {
  const others = (await readdir(folder)).filter(name => !current.includes(name))
  await Promise.all(others.map(name => removeIfStale(join(folder, name))))
}

async function removeIfStale(file: string): Promise<void> {
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
  if (Date.now() - mtimeMs > STALE_MS) await rm(file, { force: true })
}

/** The packages that a manifest calls optional. */
export async function optionalPackages(manifest: string): Promise<string[]> {
  const { optionalDependencies = {}, peerDependencies = {} } = JSON.parse(await readFile(manifest, 'utf8'))
  return Object.keys({ ...optionalDependencies, ...peerDependencies })
}
