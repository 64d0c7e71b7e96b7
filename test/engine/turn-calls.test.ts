import t from 'tap'
import type { ThreadSettings } from '../../src/engine/events.ts'
import type { OutputCall } from '../../src/engine/response.ts'
import type { Entry } from '../../src/engine/store/records.ts'
import type { Tool, ToolContext } from '../../src/engine/tools/tool.ts'
import type { ChangedFile, TurnHost } from '../../src/engine/turn.ts'
import { runCalls } from '../../src/engine/turn-calls.ts'

const call = (id: string, name: string, args = ''): OutputCall => ({
  type: 'call',
  id,
  name,
  namespace: null,
  args,
  freeform: false,
  opaque: {},
})

const spec = (name: string): Tool['spec'] => ({ name }) as Tool['spec']

/** Runs calls of two tools, `files` (changes what it is given the names of, then fails if one is `bad`) and `none`. */
async function run(...calls: readonly OutputCall[]): Promise<readonly unknown[]> {
  const happened: unknown[] = []
  const host = {
    threadId: 'T',
    now: () => 0,
    grants: { exact: new Set<string>(), prefixes: [] },
    settings: () => ({}) as ThreadSettings,
    sync: async () => {},
    record: (entry: Entry) => {
      if (entry.t === 'context') happened.push(entry.entry)
    },
    filesChanged: (turnId: string, changes: readonly ChangedFile[]) => {
      happened.push({ turnId, changed: changes.map(change => change.path) })
    },
  } as Partial<TurnHost> as TurnHost
  const files: Tool = {
    spec: spec('files'),
    async run({ args }, cx: ToolContext) {
      for (const path of args.split(' ')) cx.fileChanged(path, null, Buffer.from('x'))
      if (args.includes('bad')) throw new Error('no')
      return { parts: [{ type: 'text', text: 'done' }], isError: false }
    },
  }
  const none: Tool = { spec: spec('none'), run: async () => ({ parts: [], isError: false }) }
  const items = { claimId: (id: string | null) => id ?? 'new', start: () => {}, delta: () => {}, complete: () => {} }
  const road = { host, turnId: 'U', items, signal: new AbortController().signal, interrupt: () => {} }
  await runCalls(calls, [files, none], road)
  return happened
}

const result = (id: string, name: string, text: string | null, isError = false): unknown => ({
  type: 'result',
  id,
  name,
  freeform: false,
  parts: text === null ? [] : [{ type: 'text', text }],
  isError,
})

t.test('it tells of the files of a call once, those of a call that failed too', async t => {
  const [patch, other, bad] = [call('1', 'files', 'a b'), call('2', 'none'), call('3', 'files', 'c bad')]
  t.strictSame(await run(patch, other, bad), [
    patch,
    other,
    bad,
    { turnId: 'U', changed: ['a', 'b'] },
    { turnId: 'U', changed: ['c', 'bad'] },
    result('1', 'files', 'done'),
    result('2', 'none', null),
    result('3', 'files', 'tool failed: no', true),
  ])
})

t.test('it answers a call of a tool that is not there', async t => {
  const lost = call('1', 'lost')
  t.strictSame(await run(lost), [lost, result('1', 'lost', 'unsupported call: lost', true)])
})
