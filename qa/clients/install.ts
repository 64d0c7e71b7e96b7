import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitOf, start, within } from '../kit/child.ts'

/** The real clients that judge us, each as published. */
const CLIENTS = {
  'codex-0.142.5': { spec: '@openai/codex@0.142.5', entry: 'node_modules/@openai/codex/bin/codex.js', optional: true },
  'codex-0.171.0': { spec: '@openai/codex@0.171.0', entry: 'node_modules/@openai/codex/bin/codex.js', optional: true },
  // Their own codex (hundreds of megabytes) is an optional dependency and never runs: CODEX_PATH names the server.
  'acp-1.1.0': {
    spec: '@agentclientprotocol/codex-acp@1.1.0',
    entry: 'node_modules/@agentclientprotocol/codex-acp/dist/index.js',
    optional: false,
  },
  'acp-2.6.0': {
    spec: '@agentclientprotocol/codex-acp@2.6.0',
    entry: 'node_modules/@agentclientprotocol/codex-acp/dist/index.js',
    optional: false,
  },
} as const

export type ClientName = keyof typeof CLIENTS

const INSTALL_MS = 300_000

/** Where clients are kept between runs: outside the checkout, `$SKEIN_QA_CACHE` or a folder of the temporary one. */
export function clientCache(env: NodeJS.ProcessEnv = process.env): string {
  return env.SKEIN_QA_CACHE || join(tmpdir(), 'skein-qa-clients')
}

/**
 * The command that starts a client, installing it from npm when it is not in the cache yet. Throws with npm's own words when
 * that fails. Two runs at once are safe: each installs aside and the first to finish wins.
 */
export async function clientCommand(name: ClientName): Promise<readonly string[]> {
  const folder = join(clientCache(), name)
  if (!existsSync(folder)) await install(name, folder)
  const { entry } = CLIENTS[name]
  return nativeProgram(folder) ?? [process.execPath, join(folder, entry)]
}

async function install(name: ClientName, folder: string): Promise<void> {
  const aside = `${folder}.${process.pid}.partial`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside, { recursive: true })
  writeFileSync(join(aside, 'package.json'), '{ "private": true }\n')
  try {
    await npm(CLIENTS[name], aside)
    if (!existsSync(join(aside, CLIENTS[name].entry)))
      throw new Error(`${CLIENTS[name].spec} has no ${CLIENTS[name].entry}`)
    if (!existsSync(folder)) renameSync(aside, folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

async function npm({ spec, optional }: { spec: string; optional: boolean }, cwd: string): Promise<void> {
  const argv = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', spec]
  const child = start(optional ? argv : [...argv, '--omit=optional'], { cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.on('data', chunk => {
    said += chunk
  })
  const exit = await within(INSTALL_MS, exitOf(child), null)
  if (exit?.code !== 0) throw new Error(`npm install ${spec} failed: ${said.trim().slice(-600) || 'no answer in time'}`)
}

/** The program itself where the package has one for this machine: it starts faster than the launcher in front of it. */
function nativeProgram(folder: string): readonly string[] | null {
  const scope = join(folder, 'node_modules/@openai')
  if (!existsSync(scope)) return null
  for (const pack of readdirSync(scope)) {
    const vendor = join(scope, pack, 'vendor')
    for (const triple of existsSync(vendor) ? readdirSync(vendor) : []) {
      const program = join(vendor, triple, 'bin/codex')
      if (existsSync(program)) return [program]
    }
  }
  return null
}
