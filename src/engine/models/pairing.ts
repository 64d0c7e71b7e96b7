import type { ContextEntry } from './model.ts'

type Call = Extract<ContextEntry, { readonly type: 'call' }>
type Result = Extract<ContextEntry, { readonly type: 'result' }>

/** Codex's word to the model for a call that never got a result. */
const ABORTED = 'aborted'

/**
 * The context as every provider takes it: right after each run of what the model said come the results of the run's calls,
 * in their order, each exactly once. A call without a result gets one that says `aborted`; a result without a call is
 * dropped. Providers refuse anything else, and one interrupted turn would spoil its thread for good.
 */
export function paired(context: readonly ContextEntry[]): ContextEntry[] {
  const results = new Map<string, Result>()
  for (const entry of context) if (entry.type === 'result' && !results.has(entry.id)) results.set(entry.id, entry)
  const answered = new Set<string>()
  const out: ContextEntry[] = []
  let calls: Call[] = []
  const close = (): void => {
    for (const call of calls) out.push({ ...(results.get(call.id) ?? aborted(call)), freeform: call.freeform })
    calls = []
  }
  for (const entry of context) {
    if (entry.type === 'result' || entry.type === 'message') close()
    if (entry.type === 'result') continue
    if (entry.type === 'call') {
      if (answered.has(entry.id)) continue
      answered.add(entry.id)
      calls.push(entry)
    }
    out.push(entry)
  }
  close()
  return out
}

const aborted = ({ id, name }: Call): Omit<Result, 'freeform'> => ({
  type: 'result',
  id,
  name,
  parts: [{ type: 'text', text: ABORTED }],
  isError: true,
})
