import { readFileSync } from 'node:fs'
import { arch } from 'node:os'
import { isObject } from '../base/json.ts'
import { INVALID_REQUEST, RpcError } from '../rpc/error.ts'
import type { ClientInfo, Session } from '../server/session.ts'

/** Codex versions whose protocol is pinned, oldest first. */
export const PINS = ['0.142.5', '0.171.0'] as const

/** Codex's own clients: each hears its own version when it is pinned, or it would warn of an old server. */
const CODEX_CLIENTS: ReadonlySet<string> = new Set(['codex-tui', 'codex_exec', 'codex_vscode', 'codex_cli_rs'])

export interface Handshake {
  readonly client: ClientInfo
  readonly experimental: boolean
  readonly optOut: readonly string[]
}

/**
 * Reads `initialize` params by hand: this is the one request that is answered before the validators are loaded. The texts
 * are codex's.
 */
export function readHandshake(params: unknown): Handshake {
  if (params === undefined || params === null) throw refuse('missing field `params`')
  const info = isObject(params) ? params.clientInfo : undefined
  if (info === undefined) throw refuse('missing field `clientInfo`')
  if (!isObject(info)) throw refuse(`invalid type: ${describe(info)}, expected struct ClientInfo`)
  const client = { name: text(info, 'name'), title: optionalText(info.title), version: text(info, 'version') }
  const capabilities = isObject(params) ? (params.capabilities ?? {}) : {}
  if (!isObject(capabilities)) {
    throw refuse(`invalid type: ${describe(capabilities)}, expected struct InitializeCapabilities`)
  }
  checkHeaderValue(client.name)
  return {
    client,
    experimental: flag(capabilities.experimentalApi),
    optOut: texts(capabilities.optOutNotificationMethods),
  }
}

export interface Identity {
  /** Setting `codex_version`: `auto` or a version. */
  readonly codexVersion: string
  /** Absolute path of Skein's home. */
  readonly home: string
  readonly env: NodeJS.ProcessEnv
}

/** The version that a client hears us claim. */
export function claimedVersion(client: ClientInfo, setting: string): string {
  if (setting !== 'auto') return setting
  const pinned = (PINS as readonly string[]).includes(client.version)
  return pinned && CODEX_CLIENTS.has(client.name) ? client.version : PINS[PINS.length - 1]!
}

/**
 * The answer to `initialize`. `originator` is the name of the first client of this process: codex names itself after it.
 */
export function initializeResult(session: Session, originator: string, identity: Identity): object {
  const { name, version } = session.client ?? { name: '', version: '' }
  const suffix = version === '' ? `${name};` : `${name}; ${version}`
  return {
    userAgent: `${originator}/${session.claimedVersion} (${system()}; ${machine()}) ${terminal(identity.env)} (${suffix})`,
    codexHome: identity.home,
    platformFamily: process.platform === 'win32' ? 'windows' : 'unix',
    platformOs: PLATFORMS[process.platform] ?? process.platform,
  }
}

const PLATFORMS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'macos', win32: 'windows' }

const machine = (): string => ({ x64: 'x86_64', arm64: 'aarch64' })[arch()] ?? arch()

function terminal(env: NodeJS.ProcessEnv): string {
  const program = env.TERM_PROGRAM
  if (program) return env.TERM_PROGRAM_VERSION ? `${program}/${env.TERM_PROGRAM_VERSION}` : program
  return env.TERM || 'unknown'
}

let systemName: string | undefined

/** Name and version of the operating system, e.g. `Debian 12.0.0`. */
function system(): string {
  systemName ??=
    process.platform === 'linux' ? linuxName() : process.platform === 'darwin' ? 'Mac OS' : process.platform
  return systemName
}

function linuxName(): string {
  try {
    const lines = readFileSync('/etc/os-release', 'utf8').split('\n')
    const value = (key: string): string => lines.find(l => l.startsWith(`${key}=`))?.slice(key.length + 1) ?? ''
    const id = value('ID').replaceAll('"', '')
    const version = value('VERSION_ID').replaceAll('"', '')
    const padded = version === '' ? '' : ` ${[...version.split('.'), '0', '0'].slice(0, 3).join('.')}`
    return id === '' ? 'Linux' : `${id[0]!.toUpperCase()}${id.slice(1)}${padded}`
  } catch {
    return 'Linux'
  }
}

const refuse = (text: string): RpcError => new RpcError(INVALID_REQUEST, `Invalid request: ${text}`)

function text(info: Record<string, unknown>, key: string): string {
  const value = info[key]
  if (value === undefined) throw refuse(`missing field \`${key}\``)
  if (typeof value !== 'string') throw refuse(`invalid type: ${describe(value)}, expected a string`)
  return value
}

function optionalText(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw refuse(`invalid type: ${describe(value)}, expected a string`)
  return value
}

function flag(value: unknown): boolean {
  if (value === undefined) return false
  if (typeof value !== 'boolean') throw refuse(`invalid type: ${describe(value)}, expected a boolean`)
  return value
}

function texts(value: unknown): readonly string[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw refuse(`invalid type: ${describe(value)}, expected a sequence`)
  for (const entry of value) {
    if (typeof entry !== 'string') throw refuse(`invalid type: ${describe(entry)}, expected a string`)
  }
  return value
}

/** A value in the words of codex's parser. */
function describe(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `string ${JSON.stringify(value)}`
  if (typeof value === 'boolean') return `boolean \`${value}\``
  if (typeof value === 'number') return `${Number.isInteger(value) ? 'integer' : 'floating point'} \`${value}\``
  return Array.isArray(value) ? 'sequence' : 'map'
}

/** Codex sends the name upstream as a header, so it must fit one. */
function checkHeaderValue(name: string): void {
  if (/^[\t\u0020-\u007e]*$/.test(name)) return
  throw new RpcError(INVALID_REQUEST, `Invalid clientInfo.name: '${name}'. Must be a valid HTTP header value.`)
}
