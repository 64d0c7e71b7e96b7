import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import t from 'tap'

/** What each folder of src/ may import, beside itself. The shape of the project stands here. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  base: [],
  protocol: ['base'],
  rpc: ['base'],
  engine: ['base'],
  transport: ['rpc', 'base'],
  server: ['engine', 'rpc', 'base'],
  codex: ['server', 'engine', 'rpc', 'protocol', 'base'],
  native: ['server', 'engine', 'rpc', 'protocol', 'base'],
  client: ['protocol', 'rpc', 'transport', 'base'],
  daemon: ['client', 'transport', 'base'],
  cli: ['daemon', 'transport', 'codex', 'native', 'server', 'client', 'engine', 'rpc', 'protocol', 'base'],
}

const root = resolve(import.meta.dirname, '../src')

interface Import {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** Every relative import that crosses folders, by a reading of the text: `import`, `export from` and `import()`. */
function crossings(): readonly Import[] {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  return files.flatMap(file => {
    const text = readFileSync(join(root, file), 'utf8')
    const targets = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(match => match[1]!)
    return targets.flatMap(target => {
      const to = relative(root, resolve(root, dirname(file), target))
      const [here, there] = [folder(file), folder(to)]
      return here === there ? [] : [{ file, from: here, to: there }]
    })
  })
}

const folder = (path: string): string => path.split(sep)[0]!

t.test('it imports only what the layer below offers', async t => {
  const wrong = crossings().filter(({ from, to }) => !ALLOWED[from]?.includes(to))
  t.strictSame(
    wrong.map(({ file, to }) => `${file} imports ${to}`),
    [],
  )
})

t.test('it finds the imports it judges', async t => {
  t.ok(crossings().length > 20, 'a reading that finds nothing would allow everything')
})

t.test('it lets no two folders import each other', async t => {
  const edges = new Set(crossings().map(({ from, to }) => `${from} ${to}`))
  const both = [...edges].filter(edge => edges.has(edge.split(' ').reverse().join(' ')))
  t.strictSame(both, [])
})
