import { join, resolve } from 'node:path'
import type { Json, JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import { fileStamp } from './bounded-file.ts'
import { type ConfigFile, MAX_CONFIG_BYTES, readConfigFile, readConfigText, versionOf } from './config-file.ts'
import { parseKeyPath } from './key-path.ts'
import type { Layer, LayerSource } from './layers.ts'
import { realPath } from './project.ts'
import { replaceFile } from './replace-file.ts'
import { parseToml, TomlFaulty } from './toml.ts'
import { editToml } from './toml-edit.ts'
import { isTable, type KeyPath, merge, sameValue, unsafeReason, valueAt, withValue } from './tree.ts'

/** Edits of one request; real ones carry a handful. */
const MAX_EDITS = 256

/** How often a write starts over because another program changed the file meanwhile. */
const MAX_ATTEMPTS = 3

/** One change of a key; a null value deletes it. */
export interface ConfigEdit {
  /** Dotted, segments may be quoted. */
  readonly keyPath: string
  readonly value: Json
  /** `upsert` merges a table into the one that is there, `replace` puts it in its place. */
  readonly mergeStrategy: 'replace' | 'upsert'
}

/** A change of the home's config.toml, all of it or nothing. */
export interface ConfigWrite {
  readonly edits: readonly ConfigEdit[]
  /** Only the home's own config.toml (or null) may be named. */
  readonly filePath?: string | null
  /** The version the writer has seen; another one is a conflict. Null = whatever is there. */
  readonly expectedVersion?: string | null
}

export interface ConfigWritten {
  /** `okOverridden`: it is written, but a layer above says something else. */
  readonly status: 'ok' | 'okOverridden'
  readonly version: string
  readonly filePath: string
  /** The first edit that does not take effect, and why. */
  readonly overriddenMetadata: Overridden | null
}

export interface Overridden {
  readonly message: string
  readonly layer: { readonly source: LayerSource; readonly version: string }
  readonly effectiveValue: Json
}

/** Where a write goes and which layers lie over it, lowest first. */
export interface WriteTarget {
  readonly home: string
  readonly above: readonly Layer[]
}

/** Last write of each file in this process; the next one waits for it. */
const writes = new Map<string, Promise<unknown>>()

/**
 * Writes the home's config.toml, keeping its comments and layout. Throws `configReadonly` for another file,
 * `configConflict` when the version is not the expected one, `configInvalid` for malformed keys, for a result that is
 * no valid configuration and for a file that is already broken, and `storage` when the file cannot be written. Nothing
 * is written then.
 */
export function writeConfig(request: ConfigWrite, target: WriteTarget): Promise<ConfigWritten> {
  const path = join(target.home, 'config.toml')
  const key = realPath(path)
  const write = (writes.get(key) ?? Promise.resolve()).then(() => writeNow(request, path, target.above))
  const settled = write.catch(() => {})
  writes.set(key, settled)
  settled.then(() => writes.get(key) === settled && writes.delete(key))
  return write
}

async function writeNow(request: ConfigWrite, path: string, above: readonly Layer[]): Promise<ConfigWritten> {
  checkTarget(request.filePath ?? null, path)
  const edits = parseEdits(request.edits)
  for (let attempt = 1; ; attempt++) {
    const stamp = fileStamp(path)
    const file = readConfigFile(path)
    checkVersion(request.expectedVersion ?? null, file)
    const text = await editedText(file, edits)
    // Another program may write while we do: what it wrote must not be lost.
    const unchanged = (): boolean => fileStamp(path) === stamp || attempt === MAX_ATTEMPTS
    if (text !== (file.text ?? '') && !(await replaceFile(path, text, unchanged))) continue
    return written(path, text, edits, above)
  }
}

function checkTarget(filePath: string | null, path: string): void {
  if (filePath === null || (filePath.startsWith('/') && resolve(filePath) === path)) return
  if (filePath === path) return
  throw new EngineError('configReadonly', 'Only writes to the user config are allowed')
}

function checkVersion(expected: string | null, file: ConfigFile): void {
  if (expected === null || expected === file.version) return
  const message = 'Configuration was modified since last read. Fetch latest version and retry.'
  throw new EngineError('configConflict', message, { version: file.version })
}

interface ParsedEdit extends ConfigEdit {
  readonly path: KeyPath
}

function parseEdits(edits: readonly ConfigEdit[]): readonly ParsedEdit[] {
  if (edits.length > MAX_EDITS) throw refused(`a batch must not have more than ${MAX_EDITS} edits`)
  return edits.map(edit => {
    const path = parseKeyPath(edit.keyPath)
    if (path[0] === 'profile') throw refused(LEGACY_PROFILE)
    const reason = unsafeReason(edit.value)
    if (reason !== null) throw refused(reason)
    if (edit.value !== null && hasNull(edit.value)) throw refused(NULL_VALUE)
    return { ...edit, path }
  })
}

const NULL_VALUE = 'invalid value: invalid type: null, expected any valid TOML value'

const LEGACY_PROFILE =
  '`profile` is a legacy config selector and can no longer be written; ' +
  'use `--profile <name>` with `<name>.config.toml` instead'

const hasNull = (value: Json): boolean =>
  value === null || (typeof value === 'object' && Object.values(value).some(hasNull))

/** The whole batch applied to the file's text; throws when any of it cannot be. */
async function editedText(file: ConfigFile, edits: readonly ParsedEdit[]): Promise<string> {
  if (file.fault?.kind === 'syntax') {
    throw new EngineError('configInvalid', `failed to load configuration: ${file.fault.message}`)
  }
  let text = file.text ?? ''
  for (const edit of edits) text = await applied(text, edit)
  if (Buffer.byteLength(text) > MAX_CONFIG_BYTES) throw refused(`config.toml would exceed ${MAX_CONFIG_BYTES} bytes`)
  const { fault } = readConfigText(file.path, text)
  if (fault) throw refused(`Invalid configuration: ${fault.plain}`)
  return text
}

async function applied(text: string, { path, value, mergeStrategy, keyPath }: ParsedEdit): Promise<string> {
  const table = tableOf(text)
  const here = valueAt(table, path)
  if (value !== null && withValue(table, path, value) === undefined)
    throw refused('cannot set value on non-table parent')
  const upserted = mergeStrategy === 'upsert' && isTable(here) && isTable(value) ? merge(here, value) : value
  const after = await editToml(text, { path, value: upserted ?? undefined })
  if (after === null) throw refused(`\`${keyPath}\` cannot be written without changing other settings`)
  return after
}

function written(path: string, text: string, edits: readonly ParsedEdit[], above: readonly Layer[]): ConfigWritten {
  const user = tableOf(text)
  const effective = above.reduce((low, { table }) => merge(low, table), user)
  const overridden = edits
    .filter(edit => !sameValue(valueAt(effective, edit.path), valueAt(user, edit.path)))
    .flatMap(edit => overriding(edit.path, effective, above) ?? [])[0]
  return {
    status: overridden ? 'okOverridden' : 'ok',
    version: versionOf(text),
    filePath: path,
    overriddenMetadata: overridden ?? null,
  }
}

function overriding(path: KeyPath, effective: JsonObject, above: readonly Layer[]): Overridden | null {
  const layer = above.findLast(({ table }) => path.some((_, i) => setsAt(table, path.slice(0, i + 1), path)))
  if (!layer) return null
  const by = layer.source.type === 'user' ? `profile ${layer.source.profile}` : 'session flags'
  return {
    message: `Overridden by ${by}`,
    layer: { source: layer.source, version: layer.version },
    effectiveValue: valueAt(effective, path) ?? null,
  }
}

/** Whether `table` sets the whole `path`, or something that is no table on the way to it. */
const setsAt = (table: JsonObject, prefix: KeyPath, path: KeyPath): boolean => {
  const value = valueAt(table, prefix)
  return value !== undefined && (prefix.length === path.length || !isTable(value))
}

/** The table of a text that is known to parse. */
function tableOf(text: string): JsonObject {
  const table = parseToml(text)
  return table instanceof TomlFaulty ? {} : table
}

const refused = (message: string): EngineError => new EngineError('configInvalid', message)
