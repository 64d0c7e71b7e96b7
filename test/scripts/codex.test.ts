import t from 'tap'
import { readDeclarations } from '../../scripts/codex/declarations.ts'
import { differences } from '../../scripts/codex/differences.ts'
import { narrowAll } from '../../scripts/codex/narrow.ts'
import type { Pin } from '../../scripts/codex/pin.ts'
import { printTypes, reachable } from '../../scripts/codex/print-types.ts'
import { readShapes } from '../../scripts/codex/read-shapes.ts'
import { flatten, printLines, type Schemas } from '../../scripts/codex/schema.ts'
import { widenAll } from '../../scripts/codex/widen.ts'
import type { Shape, Shapes } from '../../src/protocol/codex/shape.ts'

t.test('it reads from the TypeScript export what the schema does not tell', async t => {
  const sources = [
    'export type Thread = { id: string, name: string | null, path?: string, };',
    'export type Empty = Record<string, never>;',
    'export type Sort = "created" | "updated";',
    'export type Ask = "never" | { "granular": { rules: boolean, mcp?: boolean, } } | { "custom": string };',
    'export type Spec = { description: string, };',
    'export type Tool = { "type": "function" } & Spec | { "type": "namespace", tools: Array<Spec> };',
    'export type Item = { startedAt?: number } & ({ "type": "text", text: string } | { "type": "plan" });',
    'export type Image = { "type": "image", detail?: string } & ({ url: string } | { fileId: string }) | { "type": "text" };',
    'export type Id = string | number;\nexport type List = Array<Thread>;',
    'export type Thread = { id: string, "sub-id": string };',
  ]
  t.same(readDeclarations(sources), {
    Ask: { never: null, granular: ['rules', 'mcp?'], custom: null },
    Empty: [],
    Image: { image: ['detail?', 'url?', 'fileId?'], text: [] },
    Item: { text: ['startedAt?', 'text'], plan: ['startedAt?'] },
    Sort: { created: null, updated: null },
    Spec: ['description'],
    Thread: ['id', 'sub-id'],
    Tool: { function: ['description'], namespace: ['tools'] },
  })
})

t.test('it strips a bundle to facts and one level of names', async t => {
  const exported = {
    title: 'Protocol',
    definitions: {
      Id: { $schema: 'x', type: 'string', description: 'An id.' },
      v2: {
        Id: { type: 'string', title: 'Id' },
        Thread: {
          type: 'object',
          title: 'Thread',
          required: ['title', 'id'],
          properties: { title: { type: 'string', description: 'Its title.' }, id: { $ref: '#/definitions/v2/Id' } },
        },
      },
    },
  }
  const bundle = flatten(exported)
  t.equal(
    printLines(bundle.definitions),
    `{
"Id":{"type":"string"},
"Thread":{"properties":{"id":{"$ref":"#/definitions/Id"},"title":{"type":"string"}},"required":["id","title"],"type":"object"}
}
`,
  )
  exported.definitions.v2.Id.type = 'integer'
  t.throws(() => flatten(exported), { message: 'two definitions of Id' })
  t.throws(() => flatten({}), { message: 'the export has no v2 definitions' })
})

function pinOf(definitions: Schemas, declarations: Pin['declarations'] = {}): Pin {
  return { version: '1.0.0', stable: { definitions: {} }, experimental: { definitions }, declarations }
}

t.test('it reads schemas as the shapes they were made from', async t => {
  const definitions: Schemas = {
    AbsolutePathBuf: { type: 'string' },
    Ask: {
      oneOf: [
        { type: 'string', enum: ['never'] },
        {
          type: 'object',
          additionalProperties: false,
          required: ['granular'],
          properties: {
            granular: { type: 'object', properties: { mcp: { type: 'boolean' }, rules: { type: 'boolean' } } },
          },
        },
      ],
    },
    Thread: {
      type: 'object',
      required: ['id'],
      properties: {
        ask: { anyOf: [{ $ref: '#/definitions/Ask' }, { type: 'null' }] },
        id: { type: 'string' },
        roots: { type: ['array', 'null'], items: { $ref: '#/definitions/AbsolutePathBuf' } },
        size: { type: 'integer', format: 'uint32', minimum: 0 },
      },
    },
  }
  const declarations = { Ask: { granular: ['rules', 'mcp'], never: null }, Thread: ['id', 'size', 'ask', 'roots?'] }
  const granular = { struct: 'Ask::Granular', fields: { rules: 'boolean', mcp: 'boolean' } }
  const thread = {
    struct: 'Thread',
    fields: { id: 'string', size: 'u32', ask: { option: '#Ask' }, roots: { option: { list: '#AbsolutePathBuf' } } },
  }
  t.same(readShapes(pinOf(definitions, declarations), 'received'), {
    AbsolutePathBuf: 'path',
    Ask: { variants: { granular: { ...granular, required: [] }, never: null }, known: 2 },
    Thread: { ...thread, required: ['id'] },
  })
  t.same(readShapes(pinOf(definitions, declarations), 'sent'), {
    AbsolutePathBuf: 'path',
    Ask: { variants: { granular: { ...granular, required: ['rules', 'mcp'] }, never: null }, known: 2 },
    Thread: { ...thread, required: ['id', 'size', 'ask'] },
  })
  t.throws(() => readShapes(pinOf({ Odd: { type: 'tuple' } }), 'sent'), {
    message: 'Odd: type tuple is not understood',
  })
})

const struct = (fields: Shapes, required: readonly string[]): Shape => ({ struct: 'S', fields, required })
const units = (...names: string[]): Shape => ({
  variants: Object.fromEntries(names.map(name => [name, null])),
  known: names.length,
})

t.test('it takes what either pin takes', async t => {
  const merged = (a: Shape, b: Shape) => widenAll({ X: a }, { X: b }).X
  t.same(merged(units('a', 'b'), units('c', 'a')), { variants: { a: null, b: null, c: null }, known: 2 })
  t.same(merged({ option: 'string' }, 'string'), { option: 'string' })
  t.same(merged('any', 'string'), 'any')
  t.same(merged('u64', 'i64'), { either: ['u64', 'i64'], name: null })
  t.same(merged(struct({ a: 'string', b: 'u32' }, ['a', 'b']), struct({ a: 'string', c: 'u32' }, ['a', 'c'])), {
    struct: 'S',
    fields: { a: 'string', b: 'u32', c: 'u32' },
    required: ['a'],
    known: 2,
  })
  t.same(widenAll({ A: 'string' }, { B: 'u8' }), { A: 'string', B: 'u8' })
})

t.test('it sends what both pins take', async t => {
  const merged = (a: Shape, b: Shape, others: Shapes = {}) => narrowAll({ X: a, ...others }, { X: b, ...others }).X
  t.same(merged(units('a', 'b'), units('c', 'a')), { variants: { a: null }, known: 1 })
  t.equal(merged(units('a'), units('b')), undefined)
  t.same(merged({ option: 'string' }, 'string'), 'string')
  t.same(merged('any', 'string'), 'string')
  t.same(merged('#Path', '#Text', { Path: 'path', Text: 'string' }), 'path')
  t.same(merged(struct({ a: 'string', b: 'u32' }, ['b']), struct({ a: { option: 'string' }, c: 'u32' }, ['a', 'c'])), {
    struct: 'S',
    fields: { a: 'string', b: 'u32', c: 'u32' },
    required: ['b', 'a', 'c'],
  })
  t.equal(merged(struct({ a: 'string' }, ['a']), struct({ a: 'u8' }, [])), undefined)
  t.same(merged(struct({ a: 'string' }, []), struct({ a: 'u8' }, [])), { struct: 'S', fields: {}, required: [] })
  const forms: Shape = { either: [struct({ file: 'string' }, ['file']), struct({ url: 'string' }, ['url'])], name: 'S' }
  t.same(merged(struct({ url: 'string' }, ['url']), forms), struct({ url: 'string' }, ['url']))
})

t.test('it prints types', async t => {
  const shapes: Shapes = {
    Ask: { variants: { never: null, 'a-b': 'string' }, known: 2 },
    Empty: { struct: 'Empty', fields: {}, required: [] },
    Item: {
      tagged: 'Item',
      tag: 'type',
      variants: { text: struct({ text: 'string' }, ['text']), plan: struct({}, []) },
      known: 2,
    },
    Lost: 'string',
    Thread: struct({ id: 'path', 'x-y': { list: { option: '#Ask' } }, items: { list: { list: '#Item' } } }, ['id']),
  }
  t.same(reachable(shapes, ['Thread', 'Empty']), ['Ask', 'Empty', 'Item', 'Thread'])
  t.equal(
    printTypes(shapes, reachable(shapes, ['Thread', 'Empty'])),
    `export type Ask =
  | 'never'
  | { readonly 'a-b': string }

export type Empty = Readonly<Record<string, never>>

export type Item =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'plan' }

export type Thread = {
  readonly id: string
  readonly 'x-y'?: readonly (Ask | null)[]
  readonly items?: readonly (readonly Item[])[]
}
`,
  )
  t.throws(() => reachable(shapes, ['Nope']), { message: 'the shape Nope is not defined' })
})

t.test('it tells what a newer pin changed', async t => {
  const methods = (...names: string[]): Schemas => ({
    ClientRequest: { oneOf: names.map(name => ({ properties: { method: { enum: [name] } } })) },
    ClientNotification: {},
    ServerNotification: {},
    ServerRequest: {},
  })
  const older = pinOf({
    ...methods('a', 'b'),
    Thread: { properties: { id: { type: 'string' }, size: { type: 'integer' } }, required: ['id'] },
    Item: { oneOf: [{ properties: { type: { enum: ['text'] } } }, { enum: ['plan'] }] },
    Old: { type: 'string' },
  })
  const newer = pinOf({
    ...methods('b', 'c'),
    Thread: { properties: { id: { type: 'string' }, name: { type: 'string' } } },
    Item: { oneOf: [{ properties: { type: { enum: ['text'] }, more: { type: 'string' } } }, { enum: ['sleep'] }] },
  })
  t.same(differences(older, newer), [
    '- ClientRequest a',
    '+ ClientRequest c',
    '- Item | plan',
    '+ Item | sleep',
    '+ Item | text more',
    '- type Old',
    '~ Thread id: [{"type":"string"},true] -> [{"type":"string"},false]',
    '+ Thread name',
    '- Thread size',
  ])
})
