import type { Shape, Shapes } from '../../src/protocol/codex/shape.ts'

/** Numbers from 0 up to 1, the same for the same seed. */
export type Random = () => number

export function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** A value that fits a shape, with some of what may be left out. */
export function sample(shape: Shape, names: Shapes, random: Random, depth = 0): unknown {
  const inner = (part: Shape) => sample(part, names, random, depth + 1)
  if (typeof shape === 'string') return shape.startsWith('#') ? inner(names[shape.slice(1)] ?? 'any') : plain(shape)
  if ('option' in shape) return depth > 8 || random() < 0.3 ? null : inner(shape.option)
  if ('list' in shape) return depth > 8 || random() < 0.2 ? [] : [inner(shape.list)]
  if ('dict' in shape) return { key: inner(shape.dict) }
  if ('either' in shape) return inner(pick(shape.either, random) ?? 'any')
  if ('struct' in shape) {
    const chosen = Object.entries(shape.fields).filter(([name]) => shape.required.includes(name) || random() < 0.6)
    return Object.fromEntries(chosen.map(([name, field]) => [name, inner(field)]))
  }
  const [name = '', variant = null] = pick(Object.entries(shape.variants), random) ?? []
  if ('tagged' in shape) return { [shape.tag]: name, ...(inner(variant ?? 'any') as object) }
  return variant === null ? name : { [name]: inner(variant) }
}

const JUNK = [null, 5, -1, 1.5, 70_000, 5e9, true, 'zz', 'a"\n', [], {}, [5], ['a', 'b'], { zz: 1 }]

/** The value with one part of it replaced by something else, or taken out. */
export function spoil(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0 || random() < 0.2)
    return pick(JUNK, random)
  const key = pick(Object.keys(value), random) ?? ''
  const copy = structuredClone(value) as Record<string, unknown>
  if (random() < 0.2 && !Array.isArray(copy)) delete copy[key]
  else copy[key] = spoil(copy[key], random)
  return copy
}

function pick<T>(values: readonly T[], random: Random): T | undefined {
  return values[Math.floor(random() * values.length)]
}

function plain(shape: string): unknown {
  switch (shape) {
    case 'any':
      return { some: 'thing' }
    case 'null':
      return null
    case 'boolean':
      return true
    case 'string':
    case 'file':
      return 'text'
    case 'path':
      return '/path'
    case 'f64':
      return 1.5
    default:
      return 7
  }
}
