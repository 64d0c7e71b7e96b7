import t from 'tap'
import { toItem, toPastItem } from '../../src/codex/items.ts'
import { accountMethods } from '../../src/codex/methods/account.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { CommandItem } from '../../src/engine/items.ts'
import type { Call } from '../../src/server/dialect.ts'

t.test('it spares the 0.142.5 TUI a sign-in screen, and tells nobody else of an account', async t => {
  const read = (name: string, version: string): unknown => {
    const call = { session: { client: { name, title: null, version } } } as Call
    return accountMethods({} as Engine)['account/read'].handle({}, call)
  }
  const none = { account: null, requiresOpenaiAuth: false, userId: null, workspaceRouting: null }
  t.strictSame(read('codex-tui', '0.142.5'), { ...none, account: { type: 'apiKey' } })
  for (const [name, version] of [
    ['codex-tui', '0.171.0'],
    ['codex_exec', '0.142.5'],
    ['', ''],
  ] as const) {
    t.strictSame(read(name, version), none, `${name} ${version}`)
  }
})

t.test(
  'it shows a command that has ended as the agent’s in history, which the 0.142.5 TUI else leaves out',
  async t => {
    const item: CommandItem = {
      type: 'command',
      id: 'I',
      command: 'ls',
      cwd: '/w',
      processId: '7',
      source: 'sessionStartup',
      status: 'completed',
      actions: [],
      output: 'a\n',
      exitCode: 0,
      durationMs: 1,
    }
    t.strictSame(toPastItem(item), { ...toItem(item), source: 'agent' })
    t.match(toPastItem({ ...item, status: 'declined' }), { source: 'agent', status: 'declined' })
    const others: readonly CommandItem[] = [
      { ...item, status: 'inProgress' },
      { ...item, source: 'userShell' },
      { ...item, source: 'sessionInteraction' },
    ]
    for (const other of others) t.strictSame(toPastItem(other), toItem(other), `${other.source} ${other.status}`)
  },
)
