import { isObject } from '../../src/base/json.ts'
import type { Mismatch } from '../replay/match.ts'

/** Where a document's folders are on this machine. */
export interface Folders {
  readonly home: string
  readonly cwd: string
}

/** Folders as documents write them. */
const DOCUMENTED: Folders = { home: '/home/me/.skein', cwd: '/home/me/project' }

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const STAMP = /rollout-[\dT-]{19}-/g
const DAY = /sessions\/\d{4}\/\d\d\/\d\d/g
const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g
const HASH = /sha256:[0-9a-f]{64}/g
/** `NAME/1.2.3 (Debian 12; x86_64) xterm`: the machine is the reader's, not the document's. */
const AGENT = /^(\S+)\/\d+\.\d+\.\d+ \([^;]+; [^)]+\) \S+/

/** Integers of moments, durations and sizes differ from run to run; so do the ids of items that are no UUIDs. */
const ANY_INTEGER = /(At|AtMs|Ms|durationMs|Seconds|Tokens|_tokens|contextWindow|modelContextWindow)$/
const ANY_TEXT = new Set(['itemId', 'cliVersion', 'platformOs', 'serverName', 'version'])

/**
 * Ids of a document and what they turned out to be. A UUID of a document stands for one of the server's, the same wherever it
 * occurs; documented folders stand for those of the run.
 */
export class Meanings {
  readonly #folders: Folders
  readonly #actual = new Map<string, string>()
  readonly #documented = new Map<string, string>()

  constructor(folders: Folders) {
    this.#folders = folders
  }

  /** A message of the document as it must be sent. */
  fill(value: unknown): unknown {
    if (typeof value === 'string') return this.#fillText(value)
    if (Array.isArray(value)) return value.map(entry => this.fill(entry))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, this.fill(entry)]))
  }

  /** Holds what came against the document by shape; the rules are in qa/README.md. Null when it fits. */
  compare(documented: unknown, actual: unknown, at = '', key = ''): Mismatch | null {
    if (Array.isArray(documented) && Array.isArray(actual)) return this.#arrays(documented, actual, at)
    if (isObject(documented) && isObject(actual)) return this.#objects(documented, actual, at)
    if (typeof documented === 'number' && Number.isInteger(actual) && ANY_INTEGER.test(key)) return null
    if (typeof documented === 'string' && typeof actual === 'string') return this.#texts(documented, actual, at, key)
    if (documented === actual) return null
    return { at, why: `the document says ${show(documented)}, the server ${show(actual)}` }
  }

  #objects(written: Record<string, unknown>, actual: Record<string, unknown>, at: string): Mismatch | null {
    const documented = this.#withKeysOf(written)
    for (const [key, entry] of Object.entries(documented)) {
      if (!Object.hasOwn(actual, key)) return { at: `${at}/${key}`, why: 'the server sends no such key' }
      const mismatch = this.compare(entry, actual[key], `${at}/${key}`, key)
      if (mismatch) return mismatch
    }
    const extra = Object.keys(actual).find(key => !Object.hasOwn(documented, key))
    return extra === undefined ? null : { at: `${at}/${extra}`, why: 'the document has no such key' }
  }

  /** Keys may be ids too. */
  #withKeysOf(documented: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(documented).map(([key, entry]) => [this.#fillText(key), entry]))
  }

  #arrays(documented: readonly unknown[], actual: readonly unknown[], at: string): Mismatch | null {
    if (documented.length !== actual.length) {
      return { at, why: `the document has ${documented.length} entries, the server ${actual.length}` }
    }
    for (const [index, entry] of documented.entries()) {
      const mismatch = this.compare(entry, actual[index], `${at}/${index}`)
      if (mismatch) return mismatch
    }
    return null
  }

  #texts(documented: string, actual: string, at: string, key: string): Mismatch | null {
    if (ANY_TEXT.has(key) || (key === 'id' && !documented.match(UUID))) return null
    if (this.#sameText(plain(documented, DOCUMENTED), plain(actual, this.#folders))) return null
    return { at, why: `the document says ${show(documented)}, the server ${show(actual)}` }
  }

  /** Equal but for their UUIDs, which must mean the same. */
  #sameText(documented: string, actual: string): boolean {
    const ids = documented.match(UUID) ?? []
    const others = actual.match(UUID) ?? []
    const around = documented.split(UUID).join('*') === actual.split(UUID).join('*')
    return around && ids.length === others.length && ids.every((id, index) => this.#means(id, others[index] ?? ''))
  }

  #means(id: string, actual: string): boolean {
    const known = this.#actual.get(id)
    if (known !== undefined) return known === actual
    if (this.#documented.has(actual)) return false
    this.#actual.set(id, actual)
    this.#documented.set(actual, id)
    return true
  }

  #fillText(text: string): string {
    return text
      .replaceAll(DOCUMENTED.home, this.#folders.home)
      .replaceAll(DOCUMENTED.cwd, this.#folders.cwd)
      .replace(UUID, id => this.#actual.get(id) ?? id)
  }
}

function plain(text: string, { home, cwd }: Folders): string {
  return text
    .replaceAll(home, '<home>')
    .replaceAll(cwd, '<cwd>')
    .replace(STAMP, 'rollout-<stamp>-')
    .replace(DAY, 'sessions/<day>')
    .replace(MOMENT, '<moment>')
    .replace(HASH, 'sha256:<hash>')
    .replace(AGENT, '$1/<agent>')
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}
