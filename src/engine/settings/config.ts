import { isAbsolute, join, resolve } from 'node:path'
import type { Json, JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import type { ApprovalPolicy, SandboxPolicy } from '../events.ts'
import { readBounded } from './bounded-file.ts'
import { type Layer, merged } from './layers.ts'
import { approvalPolicy, sandboxOf } from './permissions.ts'
import { rootMarkers, type Trust } from './project.ts'
import { asNumber, asString, isTable, stringsIn, valueAt, withValue } from './tree.ts'

/** Codex's default for all project documents of a thread together. */
const PROJECT_DOC_BYTES = 32 * 1024

/** How long a request for approval waits for a subscriber, by default. */
const UNATTENDED_MS = 60_000

/** Longest delay a timer of Node takes; longer waits are this long. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Largest file that may replace the base instructions. */
const MAX_INSTRUCTIONS_BYTES = 1024 * 1024

/** Everything the configuration says, checked and with defaults. A value: it never changes once it is made. */
export interface Settings {
  /** The configured model; null when none is, then the catalogue picks one. */
  readonly model: string | null
  readonly modelProvider: string | null
  /** The tables under `model_providers`, by id, in codex's key names; checked for types only. */
  readonly modelProviders: { readonly [id: string]: JsonObject }
  readonly effort: string | null
  readonly summary: string | null
  readonly verbosity: string | null
  /** Tokens; null = what the catalogue says of the model. */
  readonly contextWindow: number | null
  /** Tokens after which a thread is compacted by itself; null = derived from the window. */
  readonly autoCompactLimit: number | null
  /** Tokens of one tool's output that the model is shown; null = the tool's own default. */
  readonly toolOutputLimit: number | null
  readonly approvalPolicy: ApprovalPolicy
  readonly sandbox: SandboxPolicy
  /** The named profile that chose the sandbox, e.g. `:read-only`; null when `sandbox_mode` or the default did. */
  readonly permissionProfile: string | null
  readonly personality: string | null
  readonly serviceTier: string | null
  /** Replaces our base instructions; null = use ours. */
  readonly baseInstructions: string | null
  readonly developerInstructions: string | null
  readonly showRawReasoning: boolean
  readonly hideReasoning: boolean
  readonly features: { readonly [name: string]: boolean }
  readonly rootMarkers: readonly string[]
  readonly projectDocMaxBytes: number
  readonly projectDocFallbacks: readonly string[]
  /** Whether the thread's project is trusted. */
  readonly trust: Trust
  /** What a person should be told about this configuration, e.g. that a project's file was ignored. */
  readonly notices: readonly string[]
  /** All of it, unknown keys too, in codex's key names. */
  readonly table: JsonObject
}

/** What the configuration says of the server as a whole. */
export interface ServerSettings {
  /** `auto` or the codex version to claim. */
  readonly codexVersion: string
  /** `full`: what is acknowledged survives a power cut. `process`: it survives only the process. */
  readonly durability: 'full' | 'process'
  /** Milliseconds that an approval waits for a subscriber before it is declined; 0 = not at all. */
  readonly unattendedMs: number
}

/** The settings that checked layers add up to. Throws `configInvalid` when they name what cannot be had. */
export function settingsOf(layers: readonly Layer[], trust: Trust): Settings {
  const table = merged(layers)
  const text = (key: string): string | null => asString(valueAt(table, [key]))
  const number = (key: string): number | null => asNumber(valueAt(table, [key]))
  const positive = (key: string): number | null => ((number(key) ?? 0) > 0 ? number(key) : null)
  return {
    model: text('model') || null,
    modelProvider: text('model_provider') || null,
    modelProviders: tablesIn(valueAt(table, ['model_providers'])),
    effort: text('model_reasoning_effort'),
    summary: text('model_reasoning_summary'),
    verbosity: text('model_verbosity'),
    contextWindow: positive('model_context_window'),
    autoCompactLimit: positive('model_auto_compact_token_limit'),
    toolOutputLimit: positive('tool_output_token_limit'),
    approvalPolicy: approvalPolicy(valueAt(table, ['approval_policy'])),
    ...sandboxOf(layers, table),
    personality: text('personality'),
    serviceTier: text('service_tier'),
    baseInstructions: instructionsFile(text('model_instructions_file')) ?? text('instructions'),
    developerInstructions: text('developer_instructions'),
    showRawReasoning: valueAt(table, ['show_raw_agent_reasoning']) === true,
    hideReasoning: valueAt(table, ['hide_agent_reasoning']) === true,
    features: features(valueAt(table, ['features'])),
    rootMarkers: rootMarkers(table),
    projectDocMaxBytes: number('project_doc_max_bytes') ?? PROJECT_DOC_BYTES,
    projectDocFallbacks: stringsIn(valueAt(table, ['project_doc_fallback_filenames'])),
    trust,
    notices: layers.flatMap(layer => layer.notice ?? []),
    table,
  }
}

/**
 * The server's own settings from everything its files and command line say. The version to claim may come from the
 * environment as well, which counts more than a file and less than the command line.
 */
export function serverSettings(table: JsonObject, env: NodeJS.ProcessEnv, flags: JsonObject): ServerSettings {
  const version = asString(valueAt(flags, ['codex_version'])) ?? (env.SKEIN_CODEX_VERSION || null)
  return {
    codexVersion: version ?? asString(valueAt(table, ['codex_version'])) ?? 'auto',
    durability: valueAt(table, ['durability']) === 'process' ? 'process' : 'full',
    unattendedMs: Math.min(asNumber(valueAt(table, ['approvals', 'unattended_ms'])) ?? UNATTENDED_MS, MAX_TIMER_MS),
  }
}

/**
 * A layer's table with its relative paths made absolute against `base` (the folder its file is in, or the directory
 * the command or thread runs in) and a leading `~/` against the home of the user.
 */
export function absolutePaths(table: JsonObject, base: string, env: NodeJS.ProcessEnv): JsonObject {
  const full = (path: Json): Json => (typeof path === 'string' ? expand(path, base, env) : path)
  const file = valueAt(table, ['model_instructions_file'])
  const roots = valueAt(table, ['sandbox_workspace_write', 'writable_roots'])
  const providers = valueAt(table, ['model_providers'])
  let out = table
  if (file !== undefined) out = withValue(out, ['model_instructions_file'], full(file)) ?? out
  for (const id of isTable(providers) ? Object.keys(providers) : []) {
    const path = ['model_providers', id, 'script_file']
    const script = valueAt(table, path)
    if (script !== undefined) out = withValue(out, path, full(script)) ?? out
  }
  if (!Array.isArray(roots)) return out
  return withValue(out, ['sandbox_workspace_write', 'writable_roots'], roots.map(full)) ?? out
}

function expand(path: string, base: string, env: NodeJS.ProcessEnv): string {
  if (path.startsWith('~/') && env.HOME) return join(env.HOME, path.slice(2))
  return isAbsolute(path) ? path : resolve(base, path)
}

/** The text of `model_instructions_file`; a file that cannot be used is an error, not a silent fallback. */
function instructionsFile(path: string | null): string | null {
  if (path === null) return null
  const found = readBounded(path, MAX_INSTRUCTIONS_BYTES)
  const failed = (reason: string): EngineError =>
    new EngineError('configInvalid', `failed to read model instructions file ${path}: ${reason}`)
  if (found.type === 'absent') throw failed('No such file or directory (os error 2)')
  if (found.type === 'unreadable') throw failed(found.reason)
  if (found.truncated) throw failed(`larger than ${MAX_INSTRUCTIONS_BYTES} bytes`)
  const text = found.bytes.toString('utf8').trim()
  if (text === '') throw failed('the file is empty')
  return text
}

function tablesIn(value: Json | undefined): Readonly<Record<string, JsonObject>> {
  if (!isTable(value)) return {}
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, JsonObject] => isTable(entry[1])))
}

function features(value: Json | undefined): Readonly<Record<string, boolean>> {
  if (!isTable(value)) return {}
  const flags = Object.entries(value).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')
  return Object.fromEntries(flags)
}
