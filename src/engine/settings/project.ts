import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Json, JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import { type ConfigFile, type ConfigFiles, versionOf } from './config-file.ts'
import { PROJECT_KEYS } from './keys.ts'
import { type Layer, layer } from './layers.ts'
import { merge, valueAt } from './tree.ts'

/** A folder that holds one of these starts a project. */
const DEFAULT_MARKERS: readonly string[] = ['.git']

/** Folders looked at on the way up; no real path is deeper. */
const MAX_LEVELS = 256

/** Whether a person said that a project may configure the server; null = nobody said anything. */
export type Trust = 'trusted' | 'untrusted' | null

/** Names of the entries that mark a project's root, from the configuration. An empty list: every folder is its own. */
export function rootMarkers(table: JsonObject): readonly string[] {
  const set = valueAt(table, ['project_root_markers'])
  return Array.isArray(set) ? set.filter(name => typeof name === 'string' && name !== '') : DEFAULT_MARKERS
}

/** The folders of `cwd`'s project from its root down to `cwd`; only `cwd` where no root is found. */
export function projectFolders(cwd: string, markers: readonly string[]): readonly string[] {
  const folders: string[] = []
  let folder = resolve(cwd)
  for (let level = 0; markers.length > 0 && level < MAX_LEVELS; level++) {
    folders.unshift(folder)
    if (markers.some(marker => existsSync(join(folder, marker)))) return folders
    if (dirname(folder) === folder) break
    folder = dirname(folder)
  }
  return [resolve(cwd)]
}

/**
 * What `projects` says of the last of `folders`: the nearest one with a say decides. Keys are compared with real paths,
 * so that no link can lend its trust to what it points at.
 */
export function trustOf(folders: readonly string[], table: JsonObject): Trust {
  if (valueAt(table, ['projects']) === undefined) return null
  for (const folder of folders.toReversed()) {
    const level = valueAt(table, ['projects', realPath(folder), 'trust_level'])
    if (level === 'trusted' || level === 'untrusted') return level
  }
  return null
}

/** A path with its links followed; itself where it does not exist. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return resolve(path)
  }
}

/**
 * The `.skein/config.toml` layers of a project, root first; those of untrusted folders are disabled and their files not
 * read. `below` is the user's configuration, `trust` the one that says who is trusted (it may come from the command
 * line and the thread as well). Throws `configInvalid` for a broken file of a trusted folder: what it forbids must not
 * be lost quietly.
 */
export function projectLayers(
  files: ConfigFiles,
  folders: readonly string[],
  { home, below, trust }: { readonly home: string; readonly below: JsonObject; readonly trust: JsonObject },
): readonly Layer[] {
  const layers: Layer[] = []
  let table = below
  folders.forEach((folder, index) => {
    const own = join(folder, '.skein')
    const path = join(own, 'config.toml')
    // The home is a `.skein` folder too: in the folder above it, its config.toml is the user's, not a project's.
    if (!existsSync(path) || realPath(own) === realPath(home)) return
    const trusted = trustOf(folders.slice(0, index + 1), trust) === 'trusted'
    const next = trusted ? trustedLayer(files.read(path), own, table) : disabledLayer(folder, own, home)
    table = merge(table, next.table)
    layers.push(next)
  })
  return layers
}

function trustedLayer(file: ConfigFile, folder: string, below: JsonObject): Layer {
  if (file.fault) throw new EngineError('configInvalid', file.fault.message)
  const kept = Object.entries(file.table).filter(([key, value]) => mayProjectSet(key, value, below))
  const ignored = Object.keys(file.table).filter(key => !kept.some(([name]) => name === key))
  const notice = `Ignored in ${file.path}, because a project may not set it: ${ignored.join(', ')}. Set it in your own config.toml if you want it.`
  const whole = layer({ type: 'project', folder }, file.version, Object.fromEntries(kept))
  return ignored.length > 0 ? { ...whole, notice } : whole
}

function disabledLayer(folder: string, own: string, home: string): Layer {
  const disabledReason = `The project's configuration is not loaded until ${realPath(folder)} is a trusted project in ${join(home, 'config.toml')}.`
  const notice = `${own} is ignored: ${disabledReason}`
  return { source: { type: 'project', folder: own }, version: versionOf(''), table: {}, disabledReason, notice }
}

/** From the loosest to the strictest. */
const STRICTNESS: Readonly<Record<string, { readonly words: readonly string[]; readonly unset: string }>> = {
  approval_policy: { words: ['never', 'on-request', 'untrusted'], unset: 'on-request' },
  sandbox_mode: { words: ['danger-full-access', 'workspace-write', 'read-only'], unset: 'workspace-write' },
}

function mayProjectSet(key: string, value: Json, below: JsonObject): boolean {
  const scale = STRICTNESS[key]
  if (!PROJECT_KEYS.has(key) || !scale) return PROJECT_KEYS.has(key)
  return strictness(scale.words, value) >= strictness(scale.words, valueAt(below, [key]) ?? scale.unset)
}

/** `on-failure` and `granular` are reported and treated as `on-request`. */
const strictness = (words: readonly string[], value: Json): number => {
  const at = words.indexOf(String(value))
  return at === -1 ? 1 : at
}
