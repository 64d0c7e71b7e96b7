import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import { silentLogger } from '../../src/base/log.ts'
import { methodTable } from '../../src/codex/rows.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { clientRequests } from '../../src/protocol/codex/methods.gen.ts'
import { Server } from '../../src/server/server.ts'

const docs = readFileSync(resolve(import.meta.dirname, '../../docs/app-server.md'), 'utf8')
const { hub } = new Server({ attendance() {}, answer() {}, report() {} })
const table = methodTable({ engine: { settings: {} } as Engine, hub, home: '/nowhere', log: silentLogger })
const implemented = ['initialize', ...Object.keys(table)].sort()

t.test('it has a row only for methods that a pin knows', async t => {
  t.strictSame(
    implemented.filter(method => !clientRequests.has(method)),
    [],
  )
})

t.test('it documents each implemented method in a section of its own', async t => {
  const sections = [...docs.matchAll(/^### (\S+)$/gm)].map(match => match[1]!)
  t.strictSame(sections.toSorted(), implemented)
})

t.test('it lists exactly what is implemented', async t => {
  const expected = implemented
    .map(method => {
      const { experimental } = clientRequests.get(method)!
      return `- \`${method}\`${experimental === true ? ' (experimental)' : ''}`
    })
    .join('\n')
  const list = docs.slice(docs.indexOf('## Implemented methods')).trim().split('\n').slice(2).join('\n')
  t.equal(list, expected, `the list in docs/app-server.md should read:\n${expected}`)
})
