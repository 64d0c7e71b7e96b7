import { printable } from '../../base/log.ts'
import type { SandboxPolicy, ThreadSettings } from '../events.ts'
import type { FileChange, FileChangeItem } from '../items.ts'
import type { ToolSpec } from '../models/model.ts'
import { decide } from '../policy/policy.ts'
import { badArguments, failed, parseArguments, said } from './args.ts'
import { fileKey, hasAll } from './grants.ts'
import type { ToolHost } from './host.ts'
import { parsePatch } from './patch.ts'
import { applyPlan } from './patch-apply.ts'
import { whyAsk } from './patch-place.ts'
import { type PatchPlan, planPatch } from './patch-plan.ts'
import { rounded } from './seconds.ts'
import { APPLY_PATCH_FREEFORM, APPLY_PATCH_FUNCTION } from './specs.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tool.ts'

/** `apply_patch`, as a freeform tool or, for models that only know functions, with the patch as `input`. */
export function applyPatch(host: ToolHost, freeform: boolean): Tool {
  const spec: ToolSpec = freeform ? APPLY_PATCH_FREEFORM : APPLY_PATCH_FUNCTION
  return {
    spec,
    async run(call, cx) {
      // Some models send the bare patch where they should send an object, and the other way round.
      const isBare = call.freeform || call.args.trimStart().startsWith('***')
      const args = isBare
        ? { ok: true as const, value: call.args }
        : parseArguments(call.args, all => all.text('input'))
      if (!args.ok) return badArguments(args.error)
      return applyPatchText({ patch: args.value, folder: cx.settings.cwd }, call, cx, host)
    },
  }
}

export interface PatchRequest {
  readonly patch: string
  /** Absolute; the patch's paths are relative to it. */
  readonly folder: string
}

/** Takes one patch through all the stations: can it be applied, may it, its item, its writing. */
export async function applyPatchText(
  request: PatchRequest,
  call: ToolCall,
  cx: ToolContext,
  host: ToolHost,
): Promise<ToolResult> {
  const startedAt = cx.now()
  if (cx.signal.aborted) return failed('aborted by user')
  const parsed = parsePatch(request.patch)
  if (!parsed.ok) return failed(`apply_patch verification failed: ${parsed.error}`)
  if (parsed.sections.length === 0) return failed('patch rejected: empty patch')
  const replan = (): ReturnType<typeof planPatch> => planPatch(parsed.sections, request.folder)
  const planned = replan()
  if (!planned.ok) return failed(`apply_patch verification failed: ${planned.error}`)
  const refusal = await mayApply(planned.plan, call, cx, host)
  if (refusal !== null) return failed(refusal)
  // A person may have taken their time: what is written is worked out from the files as they are now.
  const now = replan()
  const error = now.ok ? write(now.plan, planned.plan, host) : now.error
  return report(now.ok ? now.plan : planned.plan, error, { call, cx, startedAt })
}

/** Opens the item and asks if need be. Null when it may be applied; then the item is open, else it is complete. */
async function mayApply(plan: PatchPlan, call: ToolCall, cx: ToolContext, host: ToolHost): Promise<string | null> {
  const item = itemOf(call, plan.changes, 'inProgress')
  const { approvalPolicy: policy, sandbox } = cx.settings
  const keys = keysOf(plan)
  const outside = whyOutside(plan, cx.settings, host)
  const verdict = decide({ tool: 'patch', policy, sandbox, outside, granted: hasAll(cx.grants, keys) })
  cx.startItem(item)
  if (verdict === 'run') return null
  const refusal = verdict === 'ask' ? await ask(item, reasonFor(plan, sandbox, outside), keys, cx) : verdict.refuse
  if (refusal === null && !cx.signal.aborted) return null
  cx.completeItem({ ...item, status: 'declined' })
  return verdict === 'ask' ? `patch ${refusal ?? 'aborted by user'}` : `patch rejected: ${refusal}`
}

/** Why a patch is not plainly within what may be written, or null. */
function whyOutside(plan: PatchPlan, settings: ThreadSettings, host: ToolHost): string | null {
  const roots = writableRoots(settings, host.tmpdir)
  const reasons = plan.places.map(place => whyAsk(place, roots)).filter(reason => reason !== null)
  return reasons.length > 0 ? [...new Set(reasons)].join('; ') : null
}

/** The folders below which a sandboxed thread may write. */
export function writableRoots({ sandbox, cwd, workspaceRoots }: ThreadSettings, tmpdir: string): readonly string[] {
  if (sandbox.type !== 'workspaceWrite') return [cwd, ...workspaceRoots]
  const temporary = [...(sandbox.excludeSlashTmp ? [] : ['/tmp']), ...(sandbox.excludeTmpdirEnvVar ? [] : [tmpdir])]
  return [cwd, ...workspaceRoots, ...sandbox.writableRoots, ...temporary]
}

/** What a person should know besides the changes themselves. */
function reasonFor(plan: PatchPlan, sandbox: SandboxPolicy, outside: string | null): string | null {
  const replaced = plan.replaced.map(path => `replaces the existing file ${path}`)
  const reasons = [...(outside !== null && sandbox.type !== 'dangerFullAccess' ? [outside] : []), ...replaced]
  return reasons.length > 0 ? printable(reasons.join('; ')) : null
}

const keysOf = (plan: PatchPlan): readonly string[] => [
  ...new Set(plan.places.flatMap(({ entry, target }) => [fileKey(entry), fileKey(target)])),
]

/** Asks a person; null when the patch may be applied. */
async function ask(
  item: FileChangeItem,
  reason: string | null,
  keys: readonly string[],
  cx: ToolContext,
): Promise<string | null> {
  const { turnId } = cx
  const { changes } = item
  const decision = await cx.ask({ type: 'fileChange', turnId, itemId: item.id, startedAt: cx.now(), reason, changes })
  switch (decision.type) {
    case 'accept':
      return null
    case 'acceptForSession':
      for (const key of keys) cx.grants.exact.add(key)
      return null
    case 'decline':
      return decision.message ? `rejected by user: ${decision.message}` : 'rejected by user'
    case 'acceptPrefix':
    case 'cancel':
    case 'result':
      return 'rejected by user'
    default:
      return decision satisfies never
  }
}

/** Writes the plan, unless it would now touch a file that nobody has allowed. Null, or why it failed. */
function write(now: PatchPlan, allowed: PatchPlan, host: ToolHost): string | null {
  const known = new Set(keysOf(allowed))
  if (!keysOf(now).every(key => known.has(key))) return 'a file of the patch was moved or replaced meanwhile'
  return applyPlan(now.files, host.umask)
}

interface Reporting {
  readonly call: ToolCall
  readonly cx: ToolContext
  readonly startedAt: number
}

/** Completes the item and says to the model, in codex's words, what came of the patch. */
function report(plan: PatchPlan, error: string | null, { call, cx, startedAt }: Reporting): ToolResult {
  cx.completeItem(itemOf(call, plan.changes, error === null ? 'completed' : 'failed'))
  const time = `Wall time: ${rounded(cx.now() - startedAt)} seconds`
  if (error !== null) return failed(`Exit code: 1\n${time}\nOutput:\n${error}\n`)
  for (const { file, before, after } of plan.files) cx.fileChanged(shownPath(plan, file), before, after)
  const lines = plan.summary.map(line => `${line}\n`).join('')
  return said(`Exit code: 0\n${time}\nOutput:\nSuccess. Updated the following files:\n${lines}`)
}

/** A changed file by the name that the patch gave it. */
function shownPath(plan: PatchPlan, file: string): string {
  return plan.places.find(({ entry, target }) => [entry, target].includes(file))?.path ?? file
}

function itemOf(call: ToolCall, changes: readonly FileChange[], status: FileChangeItem['status']): FileChangeItem {
  return { type: 'fileChange', id: call.id, changes, status }
}
