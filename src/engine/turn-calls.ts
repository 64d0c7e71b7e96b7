import type { ApprovalAsk, Decision } from './approvals.ts'
import type { ContextEntry } from './models/model.ts'
import type { ItemRoad, OutputCall } from './response.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tools/tool.ts'
import type { TurnHost } from './turn.ts'

/** What the calls of one response may touch. */
export interface CallRoad {
  readonly host: TurnHost
  readonly turnId: string
  readonly items: ItemRoad
  readonly signal: AbortSignal
  readonly interrupt: () => void
}

/**
 * Runs the calls of one response side by side and records each with its result, in the model's order, so that no request
 * ever shows a call without its answer.
 */
export async function runCalls(calls: readonly OutputCall[], tools: readonly Tool[], road: CallRoad): Promise<void> {
  const context = toolContext(road)
  const running = calls.map(call => {
    // The thread may have seen this id before: an item keeps one id of its own.
    const mine = { ...call, id: road.items.claimId(call.id) }
    return { call: mine, result: runCall(mine, tools, context) }
  })
  for (const { call } of running) record(road, { ...call, type: 'call' })
  for (const { call, result } of running) {
    const { parts, isError } = await result
    record(road, { type: 'result', id: call.id, name: call.name, freeform: call.freeform, parts, isError })
  }
}

function record(road: CallRoad, entry: ContextEntry): void {
  road.host.record({ t: 'context', turn: road.turnId, entry })
}

async function runCall(call: ToolCall, tools: readonly Tool[], context: ToolContext): Promise<ToolResult> {
  const tool = tools.find(t => t.spec.name === call.name && (t.spec.namespace ?? null) === call.namespace)
  if (!tool) return failed(`unsupported call: ${call.name}`)
  try {
    return await tool.run(call, context)
  } catch (error) {
    return failed(`tool failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}

const failed = (text: string): ToolResult => ({ parts: [{ type: 'text', text }], isError: true })

function toolContext(road: CallRoad): ToolContext {
  const { host, items, turnId, signal } = road
  const { threadId } = host
  return {
    threadId,
    turnId,
    settings: host.settings(),
    signal,
    now: host.now,
    grants: host.grants,
    startItem: item => items.start(item),
    delta: (itemId, part, delta) => items.delta(itemId, part, delta),
    completeItem: item => items.complete(item, { context: false }),
    plan: (explanation, plan) => host.emit({ type: 'turn.plan', threadId, turnId, explanation, plan }),
    fileChanged: (path, before, after) => host.fileChanged(turnId, { path, before, after }),
    warn: message => host.emit({ type: 'warning', threadId, message }),
    async ask(ask: ApprovalAsk): Promise<Decision> {
      const decision = await host.ask(ask, signal)
      if (decision.type === 'cancel') road.interrupt()
      return decision
    },
  }
}
