import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { BACKENDS, type Backend } from './backend.ts'
import type { ServerCommand } from './server.ts'

/** What every judge's command line understands. */
export interface Options {
  readonly full: boolean
  /** Names or `prefix*` patterns; empty means all. */
  readonly only: readonly string[]
  /** Judges left out on purpose. */
  readonly without: readonly string[]
  /** Keeps the folders of the run for a look. */
  readonly keep: boolean
  readonly models: readonly Backend[]
  /** Pins whose strict schemas judge the frames. */
  readonly pins: readonly string[]
  /** Notifications of this server that say nothing about it: for judging another server than Skein. */
  readonly ignore: readonly string[]
  /** Scenarios at a time, where a judge can do several. */
  readonly jobs: number
  readonly server: ServerCommand
  /** Whatever stood there without a name. */
  readonly rest: readonly string[]
}

const DEFAULT_SERVER = ['node', 'dist/skein.js', 'app-server']
const PINS = ['0.142.5', '0.171.0']

/**
 * Reads a judge's arguments; what follows `--` is the server's command, else `SKEIN_QA_SERVER` (a JSON array or words),
 * else the built Skein. Throws on an unknown flag, so that a typing error never means "everything".
 */
export function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Options {
  const cut = argv.indexOf('--')
  const words = [...(cut < 0 ? argv : argv.slice(0, cut))]
  const flags = { full: false, keep: false }
  const lists: Record<string, string[]> = { only: [], without: [], models: [], pins: [], ignore: [], jobs: [] }
  const rest: string[] = []
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const name = word.slice(2)
    if (!word.startsWith('--')) rest.push(word)
    else if (name === 'full' || name === 'keep') flags[name] = true
    else if (lists[name]) lists[name].push(...listOf(word, words.shift()))
    else throw new Error(`unknown option ${word}`)
  }
  return {
    ...flags,
    only: lists.only ?? [],
    without: lists.without ?? [],
    models: backends(lists.models ?? []),
    pins: lists.pins?.length ? lists.pins : PINS,
    ignore: lists.ignore ?? [],
    jobs: Number(lists.jobs?.at(-1) ?? 3),
    server: (cut < 0 ? serverFrom(env.SKEIN_QA_SERVER) : argv.slice(cut + 1)).map(absolute),
    rest,
  }
}

/** Whether `name` is wanted by a list of names and `prefix*` patterns; an empty list wants everything. */
export function wanted(name: string, patterns: readonly string[]): boolean {
  if (patterns.length === 0) return true
  return patterns.some(p => (p.endsWith('*') ? name.startsWith(p.slice(0, -1)) : name === p))
}

function listOf(flag: string, value: string | undefined): string[] {
  if (value === undefined) throw new Error(`${flag} needs a value`)
  return value.split(',').filter(part => part !== '')
}

function backends(names: readonly string[]): readonly Backend[] {
  const unknown = names.find(name => !BACKENDS.some(known => known === name))
  if (unknown !== undefined) throw new Error(`unknown model ${unknown}: one of ${BACKENDS.join(', ')}`)
  return names.length === 0 ? ['offline'] : BACKENDS.filter(name => names.includes(name))
}

function serverFrom(text: string | undefined): ServerCommand {
  if (text === undefined || text.trim() === '') return DEFAULT_SERVER
  return text.startsWith('[') ? (JSON.parse(text) as string[]) : text.trim().split(/\s+/)
}

/** The server runs in a folder of its own, so a file of the command must be named from the root. */
function absolute(word: string): string {
  return word.includes('/') && existsSync(word) ? resolve(word) : word
}
