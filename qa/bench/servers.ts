import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type ClientName, clientCommand } from '../clients/install.ts'
import type { Paths } from './stage.ts'
import type { Subject } from './subject.ts'

/** The names a run knows, in the order of the tables. */
export const SERVERS = ['codex-0.142.5', 'codex-0.171.0', 'node-floor', 'skein'] as const

export type ServerName = (typeof SERVERS)[number]

const DIST = resolve(import.meta.dirname, '../../dist')

/** The server of that name, installed or built as far as it must be; `programs` has the bundled floor. */
export async function subjectOf(name: ServerName, programs: { readonly floor: string }): Promise<Subject> {
  switch (name) {
    case 'codex-0.142.5':
    case 'codex-0.171.0':
      return codex(name)
    case 'node-floor':
      return floor(programs.floor)
    case 'skein':
      return skein()
    default:
      return name satisfies never
  }
}

/** The real codex, as the program of its platform package: its launcher would add a node start to every number. */
async function codex(name: ClientName): Promise<Subject> {
  const command = await clientCommand(name)
  return {
    name,
    argv: [...command, 'app-server'],
    listen: port => ['--listen', `ws://127.0.0.1:${port}`],
    homeVariable: 'CODEX_HOME',
    env: () => ({}),
    files: config,
    log: { turnStart: '"task_started"', ordinal: /("ordinal":)\d+/ },
    index: /\.sqlite(-wal|-shm)?$/,
    programFiles: command,
    skip: [],
  }
}

function floor(program: string): Subject {
  return {
    name: 'node-floor',
    argv: [process.execPath, program],
    listen: port => ['--listen', String(port)],
    homeVariable: 'FLOOR_HOME',
    env: ({ modelUrl }) => ({ FLOOR_MODEL: modelUrl }),
    files: () => ({}),
    log: null,
    index: /^$/,
    programFiles: [program],
    skip: ['list', 'long', 'crash'],
  }
}

function skein(): Subject {
  const program = join(DIST, 'skein.js')
  if (!existsSync(program)) throw new Error(`${program} is not there: npm run build`)
  const chunks = readdirSync(join(DIST, 'chunks')).map(name => join(DIST, 'chunks', name))
  return {
    name: 'skein',
    argv: [process.execPath, program, 'app-server'],
    listen: port => ['--listen', `ws://127.0.0.1:${port}`, '--ws-auth', 'off'],
    homeVariable: 'SKEIN_HOME',
    env: () => ({}),
    files: config,
    log: { turnStart: '"t":"turn"', ordinal: /^(\{"n":)\d+/ },
    index: /^index\.jsonl/,
    programFiles: [program, ...chunks],
    skip: [],
  }
}

/** The same words configure codex and Skein: the mock model, nothing to ask, no sandbox, no retries that hide a fault. */
const config = ({ modelUrl, work }: Paths): Readonly<Record<string, string>> => ({
  'config.toml': `model = "mock-model"
model_provider = "mock"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.mock]
name = "mock"
base_url = "${modelUrl}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[projects."${work}"]
trust_level = "trusted"
`,
})
