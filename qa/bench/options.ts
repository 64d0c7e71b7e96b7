import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { MEASURES } from './measures.ts'
import { SERVERS, type ServerName } from './servers.ts'

/** What `npm run bench --` understands. */
export interface Options {
  /** Ids of the measures to take. */
  readonly only: readonly string[]
  readonly names: readonly ServerName[]
  readonly runs: number
  /** Small sizes: shows that everything works; its numbers compare with nothing. */
  readonly quick: boolean
  readonly out: string
  /** Where homes and fixtures go; fixtures are used again by later runs. */
  readonly tmp: string
  /** Seconds to wait, before each run, for others to leave the machine alone. */
  readonly waitQuiet: number
  /** Cores used by others above which a run is taken again. */
  readonly maxNoise: number
  /** How often a noisy run is taken again at most. */
  readonly retries: number
  /** Seconds that a run of one measure may take. */
  readonly budget: number
}

const VALUES = ['only', 'names', 'runs', 'out', 'tmp', 'wait-quiet', 'max-noise', 'retries', 'budget']

/** Reads the arguments. Throws on anything it does not know, so that a typing error never costs an hour. */
export function readOptions(argv: readonly string[]): Options {
  const { quick, values } = split(argv)
  const text = (name: string, otherwise: string): string => values.get(name) ?? otherwise
  return {
    only: known(
      'only',
      values.get('only'),
      MEASURES.map(measure => measure.id),
    ),
    names: known('names', values.get('names'), SERVERS),
    runs: amount('runs', text('runs', quick ? '1' : '3')),
    quick,
    out: resolve(text('out', join(tmpdir(), 'skein-bench-results'))),
    tmp: resolve(text('tmp', join(tmpdir(), 'skein-bench'))),
    waitQuiet: amount('wait-quiet', text('wait-quiet', '0')),
    maxNoise: amount('max-noise', text('max-noise', 'Infinity')),
    retries: amount('retries', text('retries', '2')),
    budget: amount('budget', text('budget', '240')),
  }
}

function split(argv: readonly string[]): { readonly quick: boolean; readonly values: ReadonlyMap<string, string> } {
  const words = [...argv]
  const values = new Map<string, string>()
  let quick = false
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const name = word.replace(/^--/, '')
    if (word === '--quick') quick = true
    else if (!word.startsWith('--') || !VALUES.includes(name)) throw new Error(`unknown option ${word}`)
    else values.set(name, words.shift() ?? missing(word))
  }
  return { quick, values }
}

function known<T extends string>(option: string, text: string | undefined, all: readonly T[]): readonly T[] {
  if (text === undefined) return all
  const names = text.split(',').filter(name => name !== '')
  const stranger = names.find(name => !all.some(one => one === name))
  if (stranger !== undefined) throw new Error(`--${option} does not know ${stranger}: one of ${all.join(', ')}`)
  return all.filter(one => names.includes(one))
}

function amount(option: string, text: string): number {
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value) || value < 0) throw new Error(`--${option} needs a number`)
  return value
}

function missing(option: string): never {
  throw new Error(`${option} needs a value`)
}
