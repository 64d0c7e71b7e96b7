import type { ApprovalAsk, Decision } from '../../../src/engine/approvals.ts'
import type { PlanStep, ThreadSettings } from '../../../src/engine/events.ts'
import type { Item } from '../../../src/engine/items.ts'
import type { Grants, ToolCall, ToolContext } from '../../../src/engine/tools/tool.ts'

/** One thing that a tool said to its turn. */
export type Said =
  | { readonly say: 'started' | 'completed'; readonly item: Item }
  | { readonly say: 'delta'; readonly id: string; readonly delta: string }
  | { readonly say: 'plan'; readonly explanation: string | null; readonly plan: readonly PlanStep[] }
  | { readonly say: 'file'; readonly path: string; readonly before: string | null; readonly after: string | null }
  | { readonly say: 'ask'; readonly ask: ApprovalAsk }

export interface Fake {
  readonly cx: ToolContext
  readonly said: Said[]
  readonly abort: AbortController
}

/** A turn for one tool: writes down all that is said to it and answers every question with `decision`. */
export function fakeTurn(
  settings: Partial<ThreadSettings>,
  decision: Decision | ((ask: ApprovalAsk) => Decision | Promise<Decision>) = { type: 'decline', message: null },
  grants: Grants = { exact: new Set(), prefixes: [] },
): Fake {
  const said: Said[] = []
  const abort = new AbortController()
  const cx: ToolContext = {
    threadId: 'thread',
    turnId: `turn-${Math.random().toString(36).slice(2)}`,
    settings: { ...SETTINGS, ...settings },
    signal: abort.signal,
    now: () => Date.now(),
    startItem: item => void said.push({ say: 'started', item }),
    delta: (id, _part, delta) => void said.push({ say: 'delta', id, delta }),
    completeItem: item => void said.push({ say: 'completed', item }),
    plan: (explanation, plan) => void said.push({ say: 'plan', explanation, plan }),
    fileChanged: (path, before, after) =>
      void said.push({ say: 'file', path, before: before?.toString() ?? null, after: after?.toString() ?? null }),
    ask: async ask => {
      said.push({ say: 'ask', ask })
      return typeof decision === 'function' ? decision(ask) : decision
    },
    warn: () => {},
    grants,
  }
  return { cx, said, abort }
}

export const FREE = { type: 'dangerFullAccess' } as const

export const WORKSPACE = {
  type: 'workspaceWrite',
  writableRoots: [],
  networkAccess: false,
  excludeTmpdirEnvVar: true,
  excludeSlashTmp: true,
} as const

const SETTINGS: ThreadSettings = {
  model: 'test',
  provider: 'test',
  cwd: '/',
  workspaceRoots: [],
  approvalPolicy: 'never',
  sandbox: FREE,
  permissionProfile: null,
  effort: null,
  summary: null,
  serviceTier: null,
  personality: null,
  mode: 'default',
  modeInstructions: null,
  baseInstructions: null,
  developerInstructions: null,
}

export const call = (name: string, args: unknown): ToolCall => ({
  id: 'call_1',
  name,
  namespace: null,
  args: typeof args === 'string' ? args : JSON.stringify(args),
  freeform: false,
})

/** The text that the model is told. */
export const textOf = (result: { readonly parts: readonly object[] }): string =>
  result.parts.map(part => ('text' in part ? String(part.text) : '')).join('')

/** Deltas of an item put together. */
export const deltas = (said: readonly Said[]): string =>
  said.map(each => (each.say === 'delta' ? each.delta : '')).join('')

/** The item that was completed last. */
export function completed(said: readonly Said[]): Item | undefined {
  const last = said.findLast(each => each.say === 'completed')
  return last?.say === 'completed' ? last.item : undefined
}
