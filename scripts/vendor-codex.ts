/**
 * Takes the protocol of a codex version over into `protocol-vendored/codex/<version>/`:
 *
 *     npx tsx scripts/vendor-codex.ts 0.142.5     export, strip, write and hash
 *     npx tsx scripts/vendor-codex.ts --diff      methods and fields that differ between the two pins
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { readDeclarations } from './codex/declarations.ts'
import { differences } from './codex/differences.ts'
import { DIRECTIONS, methodsOf, PINS, pinFolder, readPin } from './codex/pin.ts'
import { type Bundle, flatten, printLines } from './codex/schema.ts'

const EXPORTS = {
  stable: ['app-server', 'generate-json-schema', '--out'],
  experimental: ['app-server', 'generate-json-schema', '--experimental', '--out'],
  typescript: ['app-server', 'generate-ts', '--experimental', '--out'],
}
/** Written by each schema export: every definition in one file. */
const BUNDLE = 'codex_app_server_protocol.schemas.json'

/** What one run of the codex program left behind. */
interface Exported {
  readonly stable: string
  readonly experimental: string
  readonly typescript: readonly string[]
}

function exportFrom(version: string, scratch: string): Exported {
  const env = { ...process.env, HOME: scratch, CODEX_HOME: join(scratch, 'home') }
  mkdirSync(env.CODEX_HOME)
  execFileSync('npm', [
    'install',
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--prefix',
    scratch,
    `@openai/codex@${version}`,
  ])
  for (const [name, args] of Object.entries(EXPORTS))
    execFileSync(join(scratch, 'node_modules', '.bin', 'codex'), [...args, join(scratch, name)], {
      env,
      stdio: 'ignore',
    })
  return {
    stable: readFileSync(join(scratch, 'stable', BUNDLE), 'utf8'),
    experimental: readFileSync(join(scratch, 'experimental', BUNDLE), 'utf8'),
    typescript: typescriptFiles(join(scratch, 'typescript')),
  }
}

/** Texts of the exported types; those of `v2`, which the schemas refer to, after those of the root. */
function typescriptFiles(folder: string): string[] {
  const depth = (file: string) => file.split(sep).length
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts') && !file.endsWith('index.ts'))
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
    .map(file => readFileSync(join(folder, file), 'utf8'))
}

function vendor(version: string): void {
  const scratch = mkdtempSync(join(tmpdir(), 'vendor-codex-'))
  try {
    write(version, exportFrom(version, scratch))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function write(version: string, exported: Exported): void {
  const stable = flatten(JSON.parse(exported.stable))
  const experimental = flatten(JSON.parse(exported.experimental))
  const files = {
    'stable.schema.json': printLines(stable.definitions),
    'experimental.schema.json': printLines(experimental.definitions),
    'required.json': printLines(readDeclarations(exported.typescript)),
  }
  const pin = {
    version,
    package: `@openai/codex@${version}`,
    commands: Object.values(EXPORTS).map(args => `codex ${args.join(' ')} DIR`),
    counts: { stable: counts(stable), experimental: counts(experimental) },
    sources: hashes({ ...exported, typescript: exported.typescript.join('') }),
    files: hashes(files),
  }
  mkdirSync(pinFolder(version), { recursive: true })
  for (const [file, text] of Object.entries({ ...files, 'PIN.json': `${JSON.stringify(pin, null, 2)}\n` }))
    writeFileSync(new URL(file, pinFolder(version)), text)
}

function counts(bundle: Bundle) {
  const methods = DIRECTIONS.map(direction => [direction, methodsOf(bundle, direction).size])
  return { ...Object.fromEntries(methods), definitions: Object.keys(bundle.definitions).length }
}

function hashes(texts: { readonly [name: string]: string }): Record<string, string> {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, sha256(text)]))
}

const [argument = ''] = process.argv.slice(2)
if (argument === '--diff') console.log(differences(readPin(PINS[0]), readPin(PINS[1])).join('\n'))
else if (/^\d+\.\d+\.\d+$/.test(argument)) vendor(argument)
else {
  console.error('usage: vendor-codex.ts VERSION | --diff')
  process.exitCode = 2
}
