import { TRANSPORTS, type Transport } from '../kit/link.ts'

/** One thing a story does or expects, with the line it stands on. */
export type Act = { readonly line: number; readonly source: string } & (
  | { readonly type: 'send'; readonly client: string; readonly message: unknown }
  /** Sent exactly as it stands; it need not be JSON. */
  | { readonly type: 'raw'; readonly client: string; readonly text: string }
  | { readonly type: 'expect'; readonly client: string; readonly pattern: unknown }
  /** Any number of frames that match, none included. */
  | { readonly type: 'any'; readonly client: string; readonly pattern: unknown }
  /** All of these, in any order. */
  | { readonly type: 'unordered'; readonly client: string; readonly patterns: readonly unknown[] }
  | { readonly type: 'silence'; readonly client: string; readonly ms: number }
  | { readonly type: 'closed'; readonly client: string; readonly how: string | null }
  | { readonly type: 'direct'; readonly word: string; readonly args: string }
)

/** What holds for the server of a story before it starts. */
export interface Setup {
  readonly transports: readonly Transport[]
  /** Lines of config.toml. */
  readonly config: readonly string[]
  /** Arguments of the server. */
  readonly args: readonly string[]
  /** Files in the working folder: path and content. */
  readonly files: readonly (readonly [string, string])[]
  /** Notifications that may come anywhere or not at all. */
  readonly ignore: readonly string[]
  /** How long one expectation waits, in milliseconds. */
  readonly timeoutMs: number
  /** Runs on the offline model whatever model the run is about. */
  readonly offline: boolean
}

/** One transcript. */
export interface Story {
  readonly name: string
  /** The first comment. */
  readonly title: string
  readonly setup: Setup
  readonly acts: readonly Act[]
}

/** A story that cannot be read. */
export class StoryError extends Error {
  constructor(name: string, line: number, why: string) {
    super(`${name}:${line}: ${why}`)
    this.name = 'StoryError'
  }
}

interface Source {
  readonly line: number
  readonly text: string
}

const SETUP_WORDS = new Set(['on', 'config', 'server', 'file', 'ignore', 'timeout', 'offline'])
const PLAY_WORDS = new Set(['open', 'initialize', 'close', 'cut', 'wait', 'restart', 'exits'])

/** Reads a story; throws a `StoryError` that names the line. The format is described in qa/README.md. */
export function readStory(name: string, text: string): Story {
  const sources = joinLines(text)
  const acts: Act[] = []
  const setup: Source[] = []
  for (let index = 0; index < sources.length; index += 1) {
    const source = sources[index]!
    const word = /^!\s*(\S+)/.exec(source.text)?.[1]
    if (word !== undefined && SETUP_WORDS.has(word)) setup.push(source)
    else if (/<\{$/.test(source.text)) {
      const end = sources.findIndex(({ text }, at) => at > index && text === '}')
      if (end < 0) throw new StoryError(name, source.line, 'this block has no end')
      acts.push(readBlock(name, source, sources.slice(index + 1, end)))
      index = end
    } else acts.push(readAct(name, source))
  }
  const title = /^#\s*(.+)$/m.exec(text)?.[1] ?? name
  return { name, title, setup: readSetup(name, setup, acts), acts }
}

/**
 * Drops comments and blank lines. A line that starts with a blank goes on with the one before; in a block the entries
 * stand at the depth of the first one, and what stands deeper goes on.
 */
function joinLines(text: string): Source[] {
  const sources: Source[] = []
  let depth = 0
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trimEnd()
    const last = sources.at(-1)
    if (line === '' || line.startsWith('#')) continue
    const indent = line.length - line.trimStart().length
    if (last && /<\{$/.test(last.text)) depth = indent
    else if (indent === 0) depth = 0
    if (indent > depth && last) sources[sources.length - 1] = { line: last.line, text: `${last.text} ${line.trim()}` }
    else sources.push({ line: index + 1, text: line.trim() })
  }
  return sources
}

function readAct(name: string, { line, text }: Source): Act {
  const at = { line, source: text }
  const direct = /^!\s*(\S+)\s*(.*)$/.exec(text)
  if (direct) {
    const word = direct[1] ?? ''
    if (!PLAY_WORDS.has(word)) throw new StoryError(name, line, `unknown directive ${word}`)
    return { ...at, type: 'direct', word, args: direct[2] ?? '' }
  }
  const parts = /^([a-z]\w*)(>>|>|<\*|<)\s?(.*)$/.exec(text)
  if (!parts) throw new StoryError(name, line, 'neither a message nor a directive')
  const [, client = '', arrow, rest = ''] = parts
  switch (arrow) {
    case '>':
      return { ...at, type: 'send', client, message: readJson(name, line, rest) }
    case '>>':
      return { ...at, type: 'raw', client, text: rest }
    case '<*':
      return { ...at, type: 'any', client, pattern: readJson(name, line, rest) }
    default:
      return readExpectation(name, { line, text: rest }, { ...at, client })
  }
}

function readExpectation(
  name: string,
  { line, text }: Source,
  at: { readonly line: number; readonly source: string; readonly client: string },
): Act {
  const silence = /^none\s+(\d+)$/.exec(text)
  if (silence) return { ...at, type: 'silence', ms: Number(silence[1]) }
  const closed = /^closed(?:\s+(\S+))?$/.exec(text)
  if (closed) return { ...at, type: 'closed', how: closed[1] ?? null }
  return { ...at, type: 'expect', pattern: readJson(name, line, text) }
}

function readBlock(name: string, head: Source, body: readonly Source[]): Act {
  const client = /^([a-z]\w*)<\{$/.exec(head.text)?.[1]
  if (client === undefined) throw new StoryError(name, head.line, 'a block starts with CLIENT<{')
  const patterns = body.map(({ line, text }) => readJson(name, line, text))
  return { line: head.line, source: head.text, type: 'unordered', client, patterns }
}

function readSetup(name: string, sources: readonly Source[], acts: readonly Act[]): Setup {
  const of = (word: string): string[] =>
    sources.flatMap(({ text }) => {
      const [, found, rest] = /^!\s*(\S+)\s*(.*)$/.exec(text) ?? []
      return found === word ? [rest ?? ''] : []
    })
  const words = (word: string): string[] => of(word).flatMap(rest => rest.split(/\s+/).filter(part => part !== ''))
  return {
    transports: readTransports(name, words('on'), acts),
    config: of('config'),
    args: words('server'),
    files: of('file').map(readFile),
    ignore: words('ignore'),
    timeoutMs: Number(of('timeout').at(-1) ?? 10_000),
    offline: of('offline').length > 0,
  }
}

/** Without an `on` line a story runs everywhere it can: standard streams have room for one client only. */
function readTransports(name: string, named: readonly string[], acts: readonly Act[]): readonly Transport[] {
  const unknown = named.find(word => !TRANSPORTS.some(known => known === word))
  if (unknown !== undefined) throw new StoryError(name, 1, `unknown transport ${unknown}`)
  if (named.length > 0) return TRANSPORTS.filter(transport => named.includes(transport))
  const clients = new Set(acts.map(clientOf).filter(client => client !== null))
  return clients.size > 1 ? ['memory', 'ws'] : ['memory', 'stdio', 'ws']
}

/** The client an act is about; null when it is about none. */
export function clientOf(act: Act): string | null {
  if (act.type !== 'direct') return act.client
  const first = act.args.split(/\s+/)[0] ?? ''
  return /^[a-z]\w*$/.test(first) ? first : null
}

/** `path content`, with `\n` for line ends; the last line gets one by itself. */
function readFile(rest: string): readonly [string, string] {
  const [, path = '', content = ''] = /^(\S+)\s?(.*)$/s.exec(rest) ?? []
  return [path, `${content.replaceAll('\\n', '\n')}\n`]
}

function readJson(name: string, line: number, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new StoryError(name, line, error instanceof Error ? error.message : 'no JSON')
  }
}
