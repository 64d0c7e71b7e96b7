import { isObject } from '../../base/json.ts'
import { bareProvider, PRESETS, type ProviderConfig, WIRES, type WireName } from './provider.ts'

type Table = Readonly<Record<string, unknown>>

/** Codex's cap on both kinds of retries. */
const MAX_RETRIES = 100
/** Longest idle time, in milliseconds: the most a timer can wait. */
const MAX_IDLE = 2 ** 31 - 1

/**
 * One table `model_providers.<id>` with codex's key names; an entry for a built-in provider changes only what it names.
 * Unknown keys are ignored. A value that cannot be used gives a text that names its key.
 */
export function readProvider(id: string, table: unknown): ProviderConfig | string {
  if (!isObject(table)) return `model_providers.${id}: wants a table`
  const preset = PRESETS.find(known => known.id === id)
  try {
    return checked(overlay(preset ?? bareProvider(id), table))
  } catch (error) {
    if (error instanceof BadKey) return `model_providers.${id}.${error.message}`
    throw error
  }
}

/** Carries the name of a bad key, and what it wants, out of the reading. */
class BadKey extends Error {}

function overlay(base: ProviderConfig, table: Table): ProviderConfig {
  const timeout = whole(table, 'stream_idle_timeout_ms', MAX_IDLE) ?? base.idleTimeoutMs
  return {
    ...base,
    name: string(table, 'name') ?? base.name,
    baseUrl: baseUrl(table) ?? base.baseUrl,
    wire: wireApi(table) ?? base.wire,
    envKey: envKey(table) ?? base.envKey,
    envKeyHelp: string(table, 'env_key_instructions') ?? base.envKeyHelp,
    bearerToken: string(table, 'experimental_bearer_token') ?? base.bearerToken,
    headers: { ...base.headers, ...strings(table, 'http_headers') },
    envHeaders: { ...base.envHeaders, ...strings(table, 'env_http_headers') },
    queryParams: { ...base.queryParams, ...strings(table, 'query_params') },
    requestMaxRetries: whole(table, 'request_max_retries', MAX_RETRIES) ?? base.requestMaxRetries,
    streamMaxRetries: whole(table, 'stream_max_retries', MAX_RETRIES) ?? base.streamMaxRetries,
    idleTimeoutMs: Math.max(1, timeout),
    scriptFile: string(table, 'script_file') ?? base.scriptFile,
    custom: true,
  }
}

function checked(provider: ProviderConfig): ProviderConfig {
  if (provider.wire !== 'offline' && provider.baseUrl === '') throw new BadKey('base_url: is missing')
  return provider
}

function string(table: Table, key: string): string | null {
  const value = table[key] ?? null
  if (value !== null && typeof value !== 'string') throw new BadKey(`${key}: wants a string`)
  return value
}

function baseUrl(table: Table): string | null {
  const value = string(table, 'base_url')
  if (value === null) return null
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new BadKey('base_url: wants a URL that starts with http:// or https://')
  }
  return value
}

/** Wires that a later release brings are known by name, so that their error can say so. */
const LATER: readonly WireName[] = ['anthropic', 'google']

function wireApi(table: Table): WireName | null {
  const value = string(table, 'wire_api')
  if (value === null) return null
  const wire = WIRES.find(name => name === value)
  if (!wire) throw new BadKey(`wire_api: unknown variant \`${value}\`, expected \`responses\` or \`chat\``)
  if (LATER.includes(wire))
    throw new BadKey(`wire_api: \`${wire}\` is not supported yet; \`responses\` and \`chat\` are`)
  return wire
}

/** An older codex spelling says that the provider takes OpenAI's key. */
function envKey(table: Table): string | null {
  const named = string(table, 'env_key')
  if (named === '') throw new BadKey('env_key: wants the name of a variable')
  return named ?? (table.requires_openai_auth === true ? 'OPENAI_API_KEY' : null)
}

function strings(table: Table, key: string): Readonly<Record<string, string>> {
  const value = table[key] ?? {}
  if (!isObject(value)) throw new BadKey(`${key}: wants a table of strings`)
  for (const [name, entry] of Object.entries(value)) {
    if (typeof entry !== 'string') throw new BadKey(`${key}.${name}: wants a string`)
    if (key !== 'query_params') checkHeader(key, name, entry)
  }
  return value as Readonly<Record<string, string>>
}

/** A bad header would otherwise fail every request, with no word about where it comes from. */
function checkHeader(key: string, name: string, value: string): void {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) throw new BadKey(`${key}.${name}: is no header name`)
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    throw new BadKey(`${key}.${name}: has a character that no header can carry`)
}

/** `value` clamped to `max`, as codex does. */
function whole(table: Table, key: string, max: number): number | null {
  const value = table[key] ?? null
  if (value === null) return null
  const number = typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0)
    throw new BadKey(`${key}: wants a whole number from 0`)
  return Math.min(number, max)
}
