import type { ModelInfo } from '../models/model.ts'
import { applyPatch } from './apply-patch.ts'
import { failed } from './args.ts'
import { clientTool } from './client-tool.ts'
import type { ClientTool } from './client-tool-specs.ts'
import { execCommand, shellCommand } from './exec-tools.ts'
import { Gate } from './gate.ts'
import type { ToolHost } from './host.ts'
import type { Tool, ToolCall, ToolResult } from './tool.ts'
import { updatePlan } from './update-plan.ts'

export interface ToolChoice {
  readonly host: ToolHost
  readonly model: ModelInfo
  /** What the thread's client brought along. */
  readonly clientTools: readonly ClientTool[]
  /** Which tool runs commands (codex: `features.unified_exec`). */
  readonly command?: 'exec_command' | 'shell_command'
}

/**
 * The tools of one model request, in a fixed order so that a provider's prompt cache holds. Calls of one response are to be
 * given to them in the model's order, all at once: they keep out of each other's way themselves.
 */
export function toolsFor({ host, model, clientTools, command = 'exec_command' }: ToolChoice): readonly Tool[] {
  const gate = new Gate()
  const shell = command === 'exec_command' ? execCommand(host) : shellCommand(host)
  const others = [updatePlan, applyPatch(host, model.freeformTools)]
  // Of two tools with one name a provider takes neither: ours win.
  const taken = new Set([shell, ...others].map(tool => tool.spec.name))
  const brought = clientTools.filter(tool => tool.namespace !== null || !taken.has(tool.name)).map(clientTool)
  return [gate.guard(shell, true), ...[...others, ...brought].map(tool => gate.guard(tool, false))]
}

/** The tool that a call means, or null. */
export function findTool(tools: readonly Tool[], { name, namespace }: ToolCall): Tool | null {
  return tools.find(({ spec }) => spec.name === name && (spec.namespace ?? null) === namespace) ?? null
}

/** What the model is told of a tool that is not there. */
export const unsupported = ({ name, namespace }: ToolCall): ToolResult =>
  failed(`unsupported call: ${namespace ?? ''}${name}`)
