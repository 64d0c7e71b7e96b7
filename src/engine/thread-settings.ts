import { absolute } from '../base/paths.ts'
import { EngineError } from './errors.ts'
import type { ApprovalPolicy, SandboxPolicy, ThreadSettings } from './events.ts'
import type { Settings } from './settings/config.ts'

/** What a client may change of a thread. Null or absent keeps what is there. */
export interface SettingsChange {
  readonly model?: string | null
  readonly provider?: string | null
  readonly cwd?: string | null
  readonly workspaceRoots?: readonly string[] | null
  readonly approvalPolicy?: ApprovalPolicy | null
  readonly sandbox?: SandboxPolicy | null
  /** A named permission profile; excludes `sandbox`. */
  readonly permissions?: string | null
  readonly effort?: string | null
  readonly summary?: string | null
  readonly serviceTier?: string | null
  readonly personality?: string | null
  readonly mode?: { readonly kind: 'default' | 'plan'; readonly instructions: string | null } | null
  readonly baseInstructions?: string | null
  readonly developerInstructions?: string | null
}

/** What a model name turned into. */
export interface ModelChoice {
  readonly model: string
  readonly provider: string
  /** What the user should be told, when it is not what they asked for or nobody knows it. */
  readonly warning: string | null
}

/** A new thread's settings, from its configuration and the model it will run on. */
export function initialSettings(
  settings: Settings,
  choice: ModelChoice,
  at: { readonly cwd: string; readonly workspaceRoots: readonly string[] | null },
): ThreadSettings {
  const { cwd } = at
  return {
    model: choice.model,
    provider: choice.provider,
    cwd,
    workspaceRoots: at.workspaceRoots?.length ? at.workspaceRoots.map(root => absolute(root, cwd)) : [cwd],
    approvalPolicy: settings.approvalPolicy,
    sandbox: implicitRoot(settings.sandbox, cwd),
    permissionProfile: settings.permissionProfile,
    effort: settings.effort,
    summary: settings.summary,
    serviceTier: settings.serviceTier,
    personality: settings.personality,
    mode: 'default',
    modeInstructions: null,
    baseInstructions: settings.baseInstructions,
    developerInstructions: settings.developerInstructions,
  }
}

/** What `change` really changes, ready to be laid over the thread's settings. */
export function settingsAfter(
  current: ThreadSettings,
  change: SettingsChange,
  choose: (name: string | null, provider: string | null) => ModelChoice,
): { readonly changes: Partial<ThreadSettings>; readonly warning: string | null } {
  const cwd = change.cwd == null ? current.cwd : absolute(change.cwd, current.cwd)
  const roots = change.workspaceRoots ?? (change.cwd == null ? null : [cwd])
  const sandbox = sandboxAfter(change, cwd)
  const named = change.model != null || change.provider != null
  const choice = named ? choose(change.model ?? current.model, change.provider ?? current.provider) : null
  const changes: Partial<ThreadSettings> = {
    ...(choice ? { model: choice.model, provider: choice.provider } : {}),
    ...(change.cwd == null ? {} : { cwd }),
    ...(roots ? { workspaceRoots: roots.map(root => absolute(root, cwd)) } : {}),
    ...(change.approvalPolicy == null ? {} : { approvalPolicy: change.approvalPolicy }),
    ...(sandbox ?? {}),
    ...kept(change, ['effort', 'summary', 'serviceTier', 'personality', 'baseInstructions', 'developerInstructions']),
    ...(change.mode ? { mode: change.mode.kind, modeInstructions: change.mode.instructions } : {}),
  }
  return { changes, warning: choice?.warning ?? null }
}

function sandboxAfter(
  change: SettingsChange,
  cwd: string,
): Pick<ThreadSettings, 'sandbox' | 'permissionProfile'> | null {
  if (change.permissions != null) {
    return { sandbox: profileSandbox(change.permissions), permissionProfile: change.permissions }
  }
  return change.sandbox == null ? null : { sandbox: implicitRoot(change.sandbox, cwd), permissionProfile: null }
}

function profileSandbox(name: string): SandboxPolicy {
  switch (name) {
    case ':read-only':
      return { type: 'readOnly', networkAccess: false }
    case ':workspace':
      return WORKSPACE_WRITE
    case ':danger-full-access':
      return { type: 'dangerFullAccess' }
    default:
      throw new EngineError('configInvalid', 'default_permissions requires a `[permissions]` table')
  }
}

const WORKSPACE_WRITE: SandboxPolicy = {
  type: 'workspaceWrite',
  writableRoots: [],
  networkAccess: false,
  excludeTmpdirEnvVar: false,
  excludeSlashTmp: false,
}

/** The working folder is always writable and, as in codex, not named among the writable roots. */
function implicitRoot(sandbox: SandboxPolicy, cwd: string): SandboxPolicy {
  if (sandbox.type !== 'workspaceWrite') return sandbox
  return { ...sandbox, writableRoots: sandbox.writableRoots.filter(root => root !== cwd) }
}

type Texts = 'effort' | 'summary' | 'serviceTier' | 'personality' | 'baseInstructions' | 'developerInstructions'

function kept(change: SettingsChange, keys: readonly Texts[]): Partial<ThreadSettings> {
  return Object.fromEntries(keys.flatMap(key => (change[key] == null ? [] : [[key, change[key]]])))
}
