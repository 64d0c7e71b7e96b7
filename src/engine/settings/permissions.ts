import type { Json, JsonObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import type { ApprovalPolicy, SandboxPolicy } from '../events.ts'
import type { Layer } from './layers.ts'
import { asString, isTable, stringsIn, valueAt } from './tree.ts'

/** `on-failure` counts as `on-request`, and so do finer-grained policies: asking is always safe. */
export function approvalPolicy(value: Json | undefined): ApprovalPolicy {
  return value === 'untrusted' || value === 'never' ? value : 'on-request'
}

const PROFILES: Readonly<Record<string, string>> = {
  ':read-only': 'read-only',
  ':workspace': 'workspace-write',
  ':danger-full-access': 'danger-full-access',
}

/**
 * The sandbox that layers ask for: a sandbox mode and a permission profile say the same thing, and the higher layer
 * counts. Throws `configInvalid` for a profile there is none of.
 */
export function sandboxOf(
  layers: readonly Layer[],
  table: JsonObject,
): { readonly sandbox: SandboxPolicy; readonly permissionProfile: string | null } {
  let mode = 'workspace-write'
  let profile: string | null = null
  for (const { table: own } of layers) {
    const set = asString(valueAt(own, ['sandbox_mode']))
    const named = asString(valueAt(own, ['default_permissions']))
    if (named !== null) [mode, profile] = [profileMode(named, table), named]
    else if (set !== null) [mode, profile] = [set, null]
  }
  return { sandbox: sandboxPolicy(mode, table), permissionProfile: profile }
}

function profileMode(name: string, table: JsonObject): string {
  const mode = Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined
  if (mode !== undefined) return mode
  const known = Object.keys(PROFILES).join(', ')
  const reason = isTable(valueAt(table, ['permissions']))
    ? `permission profile \`${name}\` is not supported; known are ${known}`
    : 'default_permissions requires a `[permissions]` table'
  throw new EngineError('configInvalid', reason)
}

function sandboxPolicy(mode: string, table: JsonObject): SandboxPolicy {
  const on = (key: string): boolean => valueAt(table, ['sandbox_workspace_write', key]) === true
  if (mode === 'danger-full-access') return { type: 'dangerFullAccess' }
  if (mode === 'read-only') return { type: 'readOnly', networkAccess: false }
  return {
    type: 'workspaceWrite',
    writableRoots: stringsIn(valueAt(table, ['sandbox_workspace_write', 'writable_roots'])),
    networkAccess: on('network_access'),
    excludeTmpdirEnvVar: on('exclude_tmpdir_env_var'),
    excludeSlashTmp: on('exclude_slash_tmp'),
  }
}
