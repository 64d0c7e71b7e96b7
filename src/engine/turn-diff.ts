import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { printable } from '../base/log.ts'
import { unifiedHunks } from './tools/unified-diff.ts'

/** Bytes of one file up to which its lines are compared; of a larger one only the headers are shown. */
const MAX_FILE = 1024 * 1024

/** Characters of a whole turn's diff. */
const MAX_DIFF = 4 * 1024 * 1024

/** Bytes of files that are remembered for one turn; files beyond are shown by their headers alone. */
const MAX_KEPT = 64 * 1024 * 1024

/**
 * What a turn did to files, as one diff in git's form from before its first change to after its last. Files that end as
 * they began are left out; a file that went and one much like it that came are a move.
 */
export class TurnDiff {
  readonly #root: string
  readonly #files = new Map<string, { readonly before: Content; after: Content }>()
  #kept = 0
  /** Diffs of single files as they were rendered last, by what they show. */
  #rendered = new Map<string, string>()

  /** Paths are shown relative to `root` (see `diffRoot`). */
  constructor(root: string) {
    this.#root = root
  }

  /** One change of a file by its absolute path; null stands for "not there". */
  add(path: string, before: Buffer | null, after: Buffer | null): void {
    const known = this.#files.get(path)
    if (known) {
      this.#kept -= known.after.kept
      known.after = this.#keep(after)
    } else this.#files.set(path, { before: this.#keep(before), after: this.#keep(after) })
  }

  #keep(content: Buffer | null): Content {
    const isSmall = content !== null && content.length <= MAX_FILE && this.#kept + content.length <= MAX_KEPT
    const kept = isSmall ? content.length : 0
    this.#kept += kept
    return { hash: hashOf(content), text: isSmall ? textOf(content) : null, exists: content !== null, kept }
  }

  /** The diff, `''` when nothing changed in the end. Sorted by path. */
  text(): string {
    const changed = [...this.#files]
      .map(([path, { before, after }]) => ({ from: this.#name(path), to: this.#name(path), before, after }))
      .filter(({ before, after }) => before.hash !== after.hash)
    const rendered = new Map<string, string>()
    for (const change of joinMoves(changed).toSorted(byName)) {
      const key = JSON.stringify([change.from, change.to, change.before.hash, change.after.hash])
      rendered.set(key, this.#rendered.get(key) ?? fileDiff(change))
    }
    this.#rendered = rendered
    const diff = [...rendered.values()].join('')
    return diff.length <= MAX_DIFF ? diff : `${diff.slice(0, MAX_DIFF)}\n[... the diff is longer ...]\n`
  }

  #name(path: string): string {
    const way = relative(this.#root, path)
    const name = way.startsWith('..') ? path.slice(1) : way
    return printable(name.split(sep).join('/'))
  }
}

/** The folder that paths of a diff are relative to: the repository around `cwd`, else `cwd` itself. */
export function diffRoot(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (folder === dirname(folder)) return cwd
  }
}

interface Content {
  /** Git's hash of the content. */
  readonly hash: string
  /** Null for what is no text, or too large to show. */
  readonly text: string | null
  readonly exists: boolean
  /** Bytes of it that are held in memory. */
  readonly kept: number
}

interface Change {
  readonly from: string
  readonly to: string
  readonly before: Content
  readonly after: Content
}

const byName = (a: Change, b: Change): number => (a.from < b.from ? -1 : a.from > b.from ? 1 : 0)

const NOTHING = '0'.repeat(40)

function hashOf(content: Buffer | null): string {
  if (content === null) return NOTHING
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex')
}

function textOf(content: Buffer): string | null {
  if (content.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
  } catch {
    return null
  }
}

/** Comparisons of files that a search for moves may cost; beyond, only files that are the same byte for byte are paired. */
const MAX_COMPARED = 400

/** Pairs files that went with files that came. */
function joinMoves(changes: readonly Change[]): readonly Change[] {
  const rest = new Set(changes)
  const moves: Change[] = []
  const gone = changes.filter(change => !change.after.exists)
  const came = changes.filter(change => !change.before.exists)
  const isMove = gone.length * came.length <= MAX_COMPARED ? isAlike : isSame
  for (const old of gone) {
    const now = came.find(change => rest.has(change) && isMove(old.before, change.after))
    if (!now) continue
    rest.delete(old)
    rest.delete(now)
    moves.push({ from: old.from, to: now.to, before: old.before, after: now.after })
  }
  return [...rest, ...moves]
}

const isSame = (a: Content, b: Content): boolean => a.hash === b.hash

/** Whether at least half of the lines are the same, as git asks for a move. */
function isAlike(a: Content, b: Content): boolean {
  if (isSame(a, b)) return true
  if (!a.text || !b.text) return false
  const lines = a.text.split('\n').slice(0, -1)
  const others = new Set(b.text.split('\n').slice(0, -1))
  const most = Math.max(lines.length, others.size)
  return most > 0 && lines.filter(line => others.has(line)).length * 2 >= most
}

function fileDiff({ from, to, before, after }: Change): string {
  const head = [
    `diff --git a/${from} b/${to}`,
    ...(before.exists ? [] : ['new file mode 100644']),
    ...(after.exists ? [] : ['deleted file mode 100644']),
    ...(from === to ? [] : before.hash === after.hash ? [`rename from ${from}`, `rename to ${to}`] : []),
    ...(before.hash === after.hash ? [] : [`index ${before.hash}..${after.hash}`]),
  ].join('\n')
  if (before.hash === after.hash) return `${head}\n`
  const old = before.exists ? `a/${from}` : '/dev/null'
  const now = after.exists ? `b/${to}` : '/dev/null'
  if (!isText(before) || !isText(after)) return `${head}\nBinary files ${old} and ${now} differ\n`
  const hunks = unifiedHunks(before.text ?? '', after.text ?? '', 3)
  return hunks === '' ? `${head}\n` : `${head}\n--- ${old}\n+++ ${now}\n${hunks}`
}

const isText = (blob: Content): boolean => blob.text !== null || !blob.exists
