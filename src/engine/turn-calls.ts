import type { ApprovalAsk, Decision } from './approvals.ts'
import type { ContextEntry } from './models/model.ts'
import type { ItemRoad, OutputCall } from './response.ts'
import { failed } from './tools/args.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tools/tool.ts'
import { findTool, unsupported } from './tools/tools.ts'
import type { ChangedFile, TurnHost } from './turn.ts'

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
  // The thread may have seen an id before: an item keeps one id of its own.
  const mine = calls.map(call => ({ ...call, id: road.items.claimId(call.id) }))
  for (const call of mine) record(road, { ...call, type: 'call' })
  // What is about to be done is on the medium before it is done, so that nothing is ever done without a trace.
  if (mine.length > 0) await road.host.sync()
  const start = (call: ToolCall): ToolResult | Promise<ToolResult> =>
    road.signal.aborted ? failed('aborted') : runCall(call, tools, road)
  const running = mine.map(call => ({ call, result: start(call) }))
  for (const { call, result } of running) {
    const { parts, isError } = await result
    record(road, { type: 'result', id: call.id, name: call.name, freeform: call.freeform, parts, isError })
  }
}

function record(road: CallRoad, entry: ContextEntry): void {
  road.host.record({ t: 'context', turn: road.turnId, entry })
}

async function runCall(call: ToolCall, tools: readonly Tool[], road: CallRoad): Promise<ToolResult> {
  const tool = findTool(tools, call)
  if (!tool) return unsupported(call)
  const changes: ChangedFile[] = []
  try {
    return await tool.run(call, toolContext(road, changes))
  } catch (error) {
    return failed(`tool failed: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    // Once for each call, however many files it changed.
    if (changes.length > 0) road.host.filesChanged(road.turnId, changes)
  }
}

function toolContext(road: CallRoad, changes: ChangedFile[]): ToolContext {
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
    fileChanged: (path, before, after) => void changes.push({ path, before, after }),
    warn: message => host.emit({ type: 'warning', threadId, message }),
    async ask(ask: ApprovalAsk): Promise<Decision> {
      const decision = await host.ask(ask, signal)
      if (decision.type === 'cancel') road.interrupt()
      return decision
    },
  }
}
