import { createHash } from 'node:crypto'
import type { JsonObject } from '../../base/json.ts'
import { fileStamp, readBounded } from './bounded-file.ts'
import { KEYS } from './keys.ts'
import { checkTable, faultText } from './schema.ts'
import { locate, type Place, parseToml, TomlFaulty } from './toml.ts'
import { valueAt } from './tree.ts'

/** Largest config.toml that is read or written. */
export const MAX_CONFIG_BYTES = 1024 * 1024

/** Files remembered at most; beyond it the longest unread one is read again when it is needed. */
const MAX_REMEMBERED = 64

/** One configuration file as it stood when it was read. */
export interface ConfigFile {
  readonly path: string
  /** Null when there is no file. */
  readonly text: string | null
  /** `sha256:` of the bytes; an absent file counts as an empty one. */
  readonly version: string
  /** Empty when there is a fault. */
  readonly table: JsonObject
  readonly fault: FileFault | null
}

/** Why a configuration file cannot be used. */
export interface FileFault {
  /** `syntax`: no TOML, or not readable at all. `value`: a known key has a value it cannot have. */
  readonly kind: 'syntax' | 'value'
  /** With path and, where known, line and column, e.g. `/home/u/.skein/config.toml:6:6: duplicate key`. */
  readonly message: string
  /** The same without the place: ``invalid type: ...\nin `model`\n``. */
  readonly plain: string
  readonly place: Place | null
}

/** Reads configuration files and reads them again only when they changed. Never throws: a fault is part of the file. */
export class ConfigFiles {
  readonly #seen = new Map<string, { readonly stamp: string; readonly file: ConfigFile }>()

  read(path: string): ConfigFile {
    const stamp = fileStamp(path)
    const seen = this.#seen.get(path)
    this.#seen.delete(path)
    const file = seen?.stamp === stamp ? seen.file : readConfigFile(path)
    this.#seen.set(path, { stamp, file })
    const oldest = this.#seen.keys().next()
    if (this.#seen.size > MAX_REMEMBERED && !oldest.done) this.#seen.delete(oldest.value)
    return file
  }
}

/** Hash by which a writer says which state of a configuration it has seen. */
export const versionOf = (content: string | Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`

/** Reads a file afresh. */
export function readConfigFile(path: string): ConfigFile {
  const found = readBounded(path, MAX_CONFIG_BYTES)
  switch (found.type) {
    case 'absent':
      return { path, text: null, version: versionOf(''), table: {}, fault: null }
    case 'unreadable':
      return broken(path, versionOf(''), `failed to read config file: ${found.reason}`)
    case 'file':
      if (found.truncated) return broken(path, versionOf(found.bytes), `larger than ${MAX_CONFIG_BYTES} bytes`)
      return parsed(path, found.bytes)
    default:
      return found satisfies never
  }
}

function parsed(path: string, bytes: Buffer): ConfigFile {
  const version = versionOf(bytes)
  const text = decode(bytes)
  if (text === null) return broken(path, version, 'stream did not contain valid UTF-8')
  const { table, fault } = readConfigText(path, text)
  return { path, text, version, table, fault }
}

/** Parses and checks the text of a configuration file; on a fault the table is empty. */
export function readConfigText(path: string, text: string): Pick<ConfigFile, 'table' | 'fault'> {
  const table = parseToml(text)
  if (table instanceof TomlFaulty) {
    const { message, place } = table.fault
    return { table: {}, fault: { kind: 'syntax', message: placed(path, place, message), plain: message, place } }
  }
  const fault = valueFault(path, text, table)
  return { table: fault ? {} : table, fault }
}

function valueFault(path: string, text: string, table: JsonObject): FileFault | null {
  const profile = legacyProfile(table)
  if (profile !== null) return { kind: 'value', message: profile, plain: profile, place: null }
  const fault = checkTable(table, KEYS)
  if (!fault) return null
  const place = locate(text, fault.path)
  return { kind: 'value', message: placed(path, place, fault.message), plain: faultText(fault), place }
}

/** What codex says of a `profile` key; null when there is none. */
export function legacyProfile(table: JsonObject): string | null {
  const name = valueAt(table, ['profile'])
  if (typeof name !== 'string') return null
  return (
    `legacy \`profile = "${name}"\` config is no longer supported; ` +
    `use \`--profile ${name}\` with \`${name}.config.toml\` instead`
  )
}

const placed = (path: string, place: Place | null, message: string): string =>
  place ? `${path}:${place.line}:${place.column}: ${message}` : `${path}: ${message}`

const broken = (path: string, version: string, message: string): ConfigFile => {
  const fault: FileFault = { kind: 'syntax', message: `${path}: ${message}`, plain: message, place: null }
  return { path, text: null, version, table: {}, fault }
}

/** Strict UTF-8 that keeps a byte order mark, so that a rewritten file keeps it too. */
function decode(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}
