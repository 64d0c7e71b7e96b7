import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { KEYS, PROJECT_KEYS } from '../../../src/engine/settings/keys.ts'
import { checkTable } from '../../../src/engine/settings/schema.ts'
import { parseToml, TomlFaulty } from '../../../src/engine/settings/toml.ts'
import { place } from './home.ts'

const DOC = readFileSync(fileURLToPath(new URL('../../../docs/config.md', import.meta.url)), 'utf8')

const EXAMPLES = [...DOC.matchAll(/```toml\n([\s\S]*?)```/g)].map(match => match[1]!)

t.test('its examples are valid configurations', async t => {
  t.ok(EXAMPLES.length >= 2)
  for (const example of EXAMPLES) {
    const table = parseToml(example)
    if (table instanceof TomlFaulty) return t.fail(table.fault.message)
    t.equal(checkTable(table, KEYS), null)
    const { cwd, load } = place(t, { 'home/config.toml': example })
    t.strictSame(load({ providers: ['openrouter'] }).warnings(), [])
    t.match(load().resolve({ cwd }), { notices: [] })
  }
})

t.test('it explains every key that is checked, and none that is not', async t => {
  const code = new Set([...DOC.matchAll(/`([^`\s]+)`/g)].map(match => match[1]!.split('.')[0]!))
  t.strictSame(
    Object.keys(KEYS).filter(key => !code.has(key)),
    [],
  )
  const rows = [...DOC.matchAll(/^\| `([^`]+)` \|/gm)].map(match => match[1]!.split('.')[0]!)
  const provider = KEYS.model_providers as { readonly of: { readonly fields: object } }
  const known = [...Object.keys(KEYS), ...Object.keys(provider.of.fields)]
  t.strictSame(
    rows.filter(key => !known.includes(key)),
    [],
  )
  for (const key of PROJECT_KEYS) t.match(DOC.slice(DOC.indexOf('A trusted project may set')), `\`${key}\``)
})
