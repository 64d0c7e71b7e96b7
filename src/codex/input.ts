import type { Json, JsonObject } from '../base/json.ts'
import type { ThreadParams } from '../engine/engine.ts'
import type { ApprovalPolicy, SandboxPolicy } from '../engine/events.ts'
import type { Input } from '../engine/items.ts'
import type { SettingsChange } from '../engine/thread-settings.ts'
import { type ClientTool, checkClientTools, clientTools } from '../engine/tools/client-tool-specs.ts'
import type { ClientRequests } from '../protocol/codex/methods.gen.ts'
import { INVALID_REQUEST, RpcError } from '../rpc/error.ts'
import type { Session } from '../server/session.ts'

type StartParams = ClientRequests['thread/start']['params']
type TurnParams = ClientRequests['turn/start']['params']

/** What a client put in, in the engine's words. */
export function readInput(input: TurnParams['input']): readonly Input[] {
  return input.map((part): Input => {
    switch (part.type) {
      case 'text': {
        const elements = (part.text_elements ?? []).map(e => ({
          start: e.byteRange.start,
          end: e.byteRange.end,
          placeholder: e.placeholder ?? null,
        }))
        return { type: 'text', text: part.text, elements }
      }
      case 'image':
        if ('fileId' in part) throw unsupported('an image by file id')
        return { type: 'image', url: part.url, ...(part.detail ? { detail: part.detail } : {}) }
      case 'localImage':
        return { type: 'localImage', path: part.path, ...(part.detail ? { detail: part.detail } : {}) }
      case 'skill':
      case 'mention':
        return { type: part.type, name: part.name, path: part.path }
      case 'audio':
      case 'localAudio':
        throw unsupported('audio')
      default:
        return part satisfies never
    }
  })
}

/** Input that no wire of ours can carry is refused at once instead of being dropped. */
const unsupported = (what: string): RpcError => new RpcError(INVALID_REQUEST, `${what} is not supported as input`)

/** thread/start, or a thread/resume that brings its history along. */
type StartLike = Omit<ClientRequests['thread/resume']['params'], 'threadId'> &
  Pick<StartParams, 'ephemeral' | 'threadSource' | 'dynamicTools'>

/** What thread/start asks for; what it says of model, policy and instructions is configuration for this thread. */
export function readStart(params: StartLike, session: Session): ThreadParams {
  if (params.permissions != null && params.sandbox != null) {
    throw new RpcError(INVALID_REQUEST, '`permissions` cannot be combined with `sandbox`')
  }
  return {
    cwd: params.cwd ?? null,
    workspaceRoots: params.runtimeWorkspaceRoots ?? null,
    overrides: {
      ...((params.config ?? {}) as JsonObject),
      ...present({
        model: params.model,
        model_provider: params.modelProvider,
        approval_policy: params.approvalPolicy as Json,
        sandbox_mode: params.sandbox,
        default_permissions: params.permissions,
        service_tier: params.serviceTier,
        personality: params.personality,
        instructions: params.baseInstructions,
        developer_instructions: params.developerInstructions,
      }),
    },
    ephemeral: params.ephemeral ?? false,
    threadSource: params.threadSource ?? null,
    clientTools: readTools(params.dynamicTools),
    originator: session.client?.name ?? null,
    cliVersion: session.claimedVersion,
  }
}

/** Tools of a client, those in namespaces each on its own. */
function readTools(specs: StartParams['dynamicTools']): readonly ClientTool[] {
  const wrong = checkClientTools(specs ?? [])
  if (wrong !== null) throw new RpcError(INVALID_REQUEST, wrong)
  return clientTools(specs ?? [])
}

function present(values: { readonly [key: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value != null)) as JsonObject
}

type ChangeParams = Pick<
  TurnParams,
  | 'model'
  | 'cwd'
  | 'approvalPolicy'
  | 'sandboxPolicy'
  | 'permissions'
  | 'effort'
  | 'summary'
  | 'serviceTier'
  | 'personality'
  | 'collaborationMode'
> & { readonly runtimeWorkspaceRoots?: readonly string[] | null }

/** Changes of a thread's settings, whether they come alone or with a turn: they hold from then on. */
export function readChange(params: ChangeParams): SettingsChange {
  if (params.permissions != null && params.sandboxPolicy != null) {
    throw new RpcError(INVALID_REQUEST, '`permissions` cannot be combined with `sandboxPolicy`')
  }
  const mode = params.collaborationMode
  return {
    // The mode names model and effort again; an explicit field wins.
    model: params.model ?? mode?.settings.model ?? null,
    effort: params.effort ?? mode?.settings.reasoning_effort ?? null,
    cwd: params.cwd ?? null,
    workspaceRoots: params.runtimeWorkspaceRoots ?? null,
    approvalPolicy: readPolicy(params.approvalPolicy),
    sandbox: params.sandboxPolicy ? readSandbox(params.sandboxPolicy) : null,
    permissions: params.permissions ?? null,
    summary: params.summary ?? null,
    serviceTier: params.serviceTier ?? null,
    personality: params.personality ?? null,
    mode: mode ? { kind: mode.mode, instructions: mode.settings.developer_instructions ?? null } : null,
  }
}

/** `on-failure` and the finer-grained policies count as `on-request`: asking is always safe. */
export function readPolicy(policy: TurnParams['approvalPolicy']): ApprovalPolicy | null {
  if (policy == null) return null
  return policy === 'never' || policy === 'untrusted' ? policy : 'on-request'
}

type WireSandbox = NonNullable<TurnParams['sandboxPolicy']>

function readSandbox(policy: WireSandbox): SandboxPolicy {
  switch (policy.type) {
    case 'dangerFullAccess':
      return { type: 'dangerFullAccess' }
    // Somebody else confines us: what that allows is not ours to know, so we treat it as full access.
    case 'externalSandbox':
      return { type: 'dangerFullAccess' }
    case 'readOnly':
      return { type: 'readOnly', networkAccess: policy.networkAccess ?? false }
    case 'workspaceWrite':
      return {
        type: 'workspaceWrite',
        writableRoots: policy.writableRoots ?? [],
        networkAccess: policy.networkAccess ?? false,
        excludeTmpdirEnvVar: policy.excludeTmpdirEnvVar ?? false,
        excludeSlashTmp: policy.excludeSlashTmp ?? false,
      }
    default:
      return policy satisfies never
  }
}

/** The sandbox that thread/resume names by its mode alone. */
export function readSandboxMode(mode: NonNullable<StartParams['sandbox']>): SandboxPolicy {
  switch (mode) {
    case 'read-only':
      return { type: 'readOnly', networkAccess: false }
    case 'danger-full-access':
      return { type: 'dangerFullAccess' }
    case 'workspace-write':
      return readSandbox({ type: 'workspaceWrite' })
    default:
      return mode satisfies never
  }
}

type Reopening = Pick<
  ClientRequests['thread/resume']['params'],
  | 'model'
  | 'modelProvider'
  | 'cwd'
  | 'runtimeWorkspaceRoots'
  | 'approvalPolicy'
  | 'permissions'
  | 'sandbox'
  | 'serviceTier'
  | 'personality'
  | 'baseInstructions'
  | 'developerInstructions'
>

/** What a cold resume or a fork may change of a thread. */
export function readReopening(params: Reopening): SettingsChange {
  if (params.permissions != null && params.sandbox != null) {
    throw new RpcError(INVALID_REQUEST, '`permissions` cannot be combined with `sandbox`')
  }
  return {
    model: params.model ?? null,
    provider: params.modelProvider ?? null,
    cwd: params.cwd ?? null,
    workspaceRoots: params.runtimeWorkspaceRoots ?? null,
    approvalPolicy: readPolicy(params.approvalPolicy),
    permissions: params.permissions ?? null,
    sandbox: params.sandbox ? readSandboxMode(params.sandbox) : null,
    serviceTier: params.serviceTier ?? null,
    personality: params.personality ?? null,
    baseInstructions: params.baseInstructions ?? null,
    developerInstructions: params.developerInstructions ?? null,
  }
}
