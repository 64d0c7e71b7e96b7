import type { Primitive, Shape, Shapes, Struct, Tagged, Variants } from '../../src/protocol/codex/shape.ts'

/** Names reachable from `roots`, sorted. */
export function reachable(shapes: Shapes, roots: readonly string[]): string[] {
  const found = new Set<string>()
  const waiting = [...roots]
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue
    found.add(name)
    const shape = shapes[name]
    if (shape === undefined) throw new Error(`the shape ${name} is not defined`)
    waiting.push(...(JSON.stringify(shape).match(/"#\w+"/g) ?? []).map(ref => ref.slice(2, -1)))
  }
  return [...found].sort()
}

/** One exported TypeScript type for each name. */
export function printTypes(shapes: Shapes, names: readonly string[]): string {
  return names.map(name => `export type ${name} =${printTop(shapes[name] ?? 'any')}\n`).join('\n')
}

/** A named type with the space before it, broken into lines where it has parts. */
function printTop(shape: Shape): string {
  if (typeof shape === 'object' && 'struct' in shape) return ` ${printStruct(shape, '\n  ', '\n')}`
  const members = membersOf(shape)
  return members.length > 1 ? members.map(member => `\n  | ${member}`).join('') : ` ${members.join()}`
}

function print(shape: Shape): string {
  return membersOf(shape).join(' | ')
}

/** The members of a union; a type that is none is its own only member. */
function membersOf(shape: Shape): string[] {
  if (typeof shape === 'string') return [printPlain(shape)]
  if ('option' in shape) return [...membersOf(shape.option), 'null']
  if ('list' in shape) return [`readonly ${wrapped(shape.list)}[]`]
  if ('dict' in shape) return [`{ readonly [key: string]: ${print(shape.dict)} }`]
  if ('struct' in shape) return [printStruct(shape)]
  if ('tagged' in shape)
    return Object.entries(shape.variants).flatMap(([name, variant]) => printTagged(shape, name, variant))
  if ('either' in shape) return [...new Set(shape.either.flatMap(membersOf))]
  return Object.entries(shape.variants).map(printVariant)
}

function printTagged({ tag }: Tagged, name: string, variant: Shape): string[] {
  if (typeof variant === 'object' && 'either' in variant)
    return variant.either.flatMap(form => printTagged({ tag } as Tagged, name, form))
  const { fields, required, ...rest } = variant as Struct
  // Spelt as a field of its own, so that the compiler tells the variants apart by it.
  const literal = { variants: { [name]: null }, known: 1 }
  return [printStruct({ ...rest, fields: { [tag]: literal, ...fields }, required: [tag, ...required] })]
}

function printVariant([name, shape]: [string, Variants['variants'][string]]): string {
  return shape === null ? quoted(name) : `{ readonly ${key(name)}: ${print(shape)} }`
}

function printStruct({ fields, required, keys }: Struct, before = ' ', after = ' '): string {
  const lines = Object.entries(fields).map(([name, shape]) => {
    const mark = required.includes(name) ? '' : '?'
    return `readonly ${key(name)}${mark}: ${print(shape)}`
  })
  if (keys === 'open') lines.push('readonly [key: string]: unknown')
  if (lines.length === 0) return 'Readonly<Record<string, never>>'
  return `{${before}${lines.join(before === ' ' ? '; ' : before)}${after}}`
}

function printPlain(shape: Primitive | `#${string}`): string {
  if (shape.startsWith('#')) return shape.slice(1)
  switch (shape) {
    case 'any':
      return 'unknown'
    case 'null':
    case 'boolean':
    case 'string':
      return shape
    case 'path':
    case 'file':
      return 'string'
    default:
      return 'number'
  }
}

function wrapped(shape: Shape): string {
  const text = print(shape)
  return membersOf(shape).length > 1 || text.startsWith('readonly ') ? `(${text})` : text
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
