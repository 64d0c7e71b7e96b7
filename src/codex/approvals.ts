import { isObject } from '../base/json.ts'
import type { ApprovalAsk, Decision } from '../engine/approvals.ts'
import type { ToolContent } from '../engine/items.ts'
import type {
  CommandExecutionRequestApprovalParams,
  DynamicToolCallParams,
  FileChangeRequestApprovalParams,
} from '../protocol/codex/types.gen.ts'
import type { Reply } from '../rpc/calls.ts'
import type { Question } from '../server/dialect.ts'
import { toAction } from './items.ts'

const DECLINE: Decision = { type: 'decline', message: null }

/** What a tool asks, as a request to the clients that follow the thread. */
export function toQuestion(threadId: string, ask: ApprovalAsk): Question {
  switch (ask.type) {
    case 'command':
      return commandQuestion(threadId, ask)
    case 'fileChange': {
      const { turnId, itemId, startedAt, reason } = ask
      const params: FileChangeRequestApprovalParams = {
        threadId,
        turnId,
        itemId,
        startedAtMs: startedAt,
        reason,
        grantRoot: null,
      }
      const decode = (reply: Reply): Decision => plain(decisionOf(reply)) ?? DECLINE
      return { kind: 'question', method: 'item/fileChange/requestApproval', params, decode }
    }
    case 'clientTool': {
      const params: DynamicToolCallParams = {
        threadId,
        turnId: ask.turnId,
        callId: ask.itemId,
        namespace: ask.namespace,
        tool: ask.tool,
        arguments: ask.arguments as never,
      }
      return { kind: 'question', method: 'item/tool/call', params, decode: toToolResult }
    }
    default:
      return ask satisfies never
  }
}

function commandQuestion(threadId: string, ask: Extract<ApprovalAsk, { type: 'command' }>): Question {
  const prefix = ask.prefix && [...ask.prefix]
  const amendment = prefix && { acceptWithExecpolicyAmendment: { execpolicy_amendment: prefix } }
  const params: CommandExecutionRequestApprovalParams = {
    kind: 'command',
    threadId,
    turnId: ask.turnId,
    itemId: ask.itemId,
    startedAtMs: ask.startedAt,
    // A name here makes the TUIs show an "Environment" line that says nothing.
    environmentId: null,
    ...(ask.reason === null ? {} : { reason: ask.reason }),
    command: ask.command,
    cwd: ask.cwd,
    commandActions: ask.actions.map(toAction),
    ...(prefix ? { proposedExecpolicyAmendment: prefix } : {}),
    availableDecisions: ['accept', 'acceptForSession', ...(amendment ? [amendment] : []), 'decline', 'cancel'],
  }
  return {
    kind: 'question',
    method: 'item/commandExecution/requestApproval',
    params,
    decode: reply => commandDecision(decisionOf(reply), prefix),
  }
}

/** Only what was offered counts: an amendment must be exactly the prefix that was proposed. */
function commandDecision(decision: unknown, prefix: readonly string[] | null): Decision {
  const simple = plain(decision)
  if (simple) return simple
  if (!prefix || !isObject(decision)) return DECLINE
  const amendment = decision.acceptWithExecpolicyAmendment
  const given = isObject(amendment) ? amendment.execpolicy_amendment : null
  if (!Array.isArray(given) || given.length !== prefix.length) return DECLINE
  return given.every((word, i) => word === prefix[i]) ? { type: 'acceptPrefix', prefix } : DECLINE
}

function plain(decision: unknown): Decision | null {
  if (decision === 'accept' || decision === 'acceptForSession' || decision === 'cancel') return { type: decision }
  return decision === 'decline' ? DECLINE : null
}

const decisionOf = (reply: Reply): unknown =>
  reply.kind === 'result' && isObject(reply.result) ? reply.result.decision : null

/** A client tool's own result; anything else is told to the model as the client's failure. */
function toToolResult(reply: Reply): Decision {
  if (reply.kind === 'failure') return toolFailure('dynamic tool request failed')
  const { result } = reply
  if (!isObject(result) || typeof result.success !== 'boolean' || !Array.isArray(result.contentItems)) {
    return toolFailure('dynamic tool response was invalid')
  }
  const content: ToolContent[] = []
  for (const item of result.contentItems as unknown[]) {
    if (isObject(item) && item.type === 'inputText' && typeof item.text === 'string') {
      content.push({ type: 'text', text: item.text })
    } else if (isObject(item) && item.type === 'inputImage' && typeof item.imageUrl === 'string') {
      content.push({ type: 'image', url: item.imageUrl })
    } else return toolFailure('dynamic tool response was invalid')
  }
  return { type: 'result', success: result.success, content }
}

const toolFailure = (text: string): Decision => ({ type: 'result', success: false, content: [{ type: 'text', text }] })
