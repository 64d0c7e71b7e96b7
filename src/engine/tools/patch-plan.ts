import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { FileChange } from '../items.ts'
import { osErrorText } from './os-error.ts'
import type { PatchSection } from './patch.ts'
import { type Place, placeOf } from './patch-place.ts'
import { applyChunks } from './patch-text.ts'
import { unifiedHunks } from './unified-diff.ts'

/** One file that a patch changes. */
export interface PlannedFile {
  readonly place: Place
  /** The file that is written; for a deletion the entry that is removed. */
  readonly file: string
  readonly before: Buffer | null
  readonly after: Buffer | null
  /** Of the file whose mode and owner a new content takes over; null for a new file. */
  readonly stats: Stats | null
}

/** All that a patch would do, worked out without doing any of it. */
export interface PatchPlan {
  readonly files: readonly PlannedFile[]
  /** What a person is shown, sorted by path. */
  readonly changes: readonly FileChange[]
  /** Every place that the patch names. */
  readonly places: readonly Place[]
  /** Existing files that a moved file takes the place of: the changes do not show them. */
  readonly replaced: readonly string[]
  /** One line a section in codex's form, `M a.txt`, additions first. */
  readonly summary: readonly string[]
}

export type Planned = { readonly ok: true; readonly plan: PatchPlan } | { readonly ok: false; readonly error: string }

/** Files larger than this are not patched. */
const MAX_FILE = 32 * 1024 * 1024

/** Works out a patch against the files as they are now. Every section sees what the ones before it did. */
export function planPatch(sections: readonly PatchSection[], cwd: string): Planned {
  const planner = new Planner(cwd)
  try {
    for (const section of sections) planner.take(section)
    return { ok: true, plan: planner.plan() }
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.message }
    return { ok: false, error: osErrorText(error) }
  }
}

class Refusal extends Error {}

interface Content {
  readonly bytes: Buffer | null
  readonly stats: Stats | null
}

interface Touched {
  readonly place: Place
  readonly before: Content
  after: Buffer | null
}

const GONE: Content = { bytes: null, stats: null }

class Planner {
  readonly #cwd: string
  readonly #places: Place[] = []
  readonly #touched = new Map<string, Touched>()
  /** New file to old file, for files that moved. */
  readonly #moves = new Map<string, string>()
  readonly #summary: { readonly letter: 'A' | 'M' | 'D'; readonly path: string }[] = []

  constructor(cwd: string) {
    this.#cwd = cwd
  }

  take(section: PatchSection): void {
    const place = this.#place(section.path)
    switch (section.type) {
      case 'add':
        this.#write(place, Buffer.from(section.text))
        return this.#note('A', section.path)
      case 'delete':
        if (this.#read(place, 'Failed to read').bytes === null) throw missing(`Failed to read ${place.path}`)
        this.#remove(place)
        return this.#note('D', section.path)
      case 'update':
        return this.#update(section, place)
      default:
        section satisfies never
    }
  }

  #update(section: PatchSection & { readonly type: 'update' }, place: Place): void {
    const doing = 'Failed to read file to update'
    const { bytes } = this.#read(place, doing)
    if (bytes === null) throw missing(`${doing} ${place.path}`)
    const applied = applyChunks(decode(bytes, `${doing} ${place.path}`), section.chunks, place.path)
    if (!applied.ok) throw new Refusal(applied.error)
    const after = Buffer.from(applied.text)
    const to = section.movePath === null ? place : this.#place(section.movePath)
    if (to.target !== place.target) {
      this.#moves.set(to.target, place.entry)
      this.#remove(place)
    }
    this.#write(to, after)
    this.#note('M', section.movePath ?? section.path)
  }

  #place(path: string): Place {
    if (path.includes('\0')) throw new Refusal(`Failed to read ${JSON.stringify(path)}: a path holds no NUL byte`)
    const place = placeOf(isAbsolute(path) ? resolve(path) : resolve(this.#cwd, path))
    this.#places.push(place)
    // A link that this patch removed leads nowhere any more.
    return this.#touched.get(place.entry)?.after === null ? { ...place, target: place.entry } : place
  }

  #read(place: Place, doing: string): Content {
    const touched = this.#touched.get(place.target)
    if (touched) return { bytes: touched.after, stats: touched.before.stats }
    return readContent(place.target, `${doing} ${place.path}`)
  }

  #write(place: Place, after: Buffer): void {
    const known = this.#touched.get(place.target)
    if (known) known.after = after
    else {
      const before = readContent(place.target, `Failed to write file ${place.path}`)
      this.#touched.set(place.target, { place, before, after })
    }
  }

  #remove(place: Place): void {
    const known = this.#touched.get(place.entry)
    if (known) known.after = null
    else this.#touched.set(place.entry, { place, before: readContent(place.target, place.path), after: null })
  }

  #note(letter: 'A' | 'M' | 'D', path: string): void {
    this.#summary.push({ letter, path })
  }

  plan(): PatchPlan {
    const touched = [...this.#touched].filter(([, { before, after }]) => before.bytes !== null || after !== null)
    const files = touched.map(([file, { place, before, after }]): PlannedFile => {
      const { stats } = (this.#origin(file) ?? { before }).before
      return { place, file, before: before.bytes, after, stats }
    })
    // Old files whose end is shown by the new file that they became.
    const moved = new Set(touched.map(([file, { after }]) => (after === null ? null : this.#origin(file))))
    const changes = touched
      .filter(([, each]) => each.after !== null || !moved.has(each))
      .map(([file, each]) => this.#change(file, each))
      .toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
    const replaced = touched.filter(([file, { before }]) => before.bytes !== null && this.#moves.has(file))
    return {
      files,
      changes,
      places: this.#places,
      replaced: replaced.map(([, { place }]) => place.path),
      summary: this.#lines(),
    }
  }

  /** The file that this one was before it moved here, perhaps by several steps; null when it did not or was not there. */
  #origin(file: string): Touched | null {
    const seen = new Set([file])
    let at = this.#moves.get(file)
    for (; at !== undefined && this.#moves.has(at) && !seen.has(at); at = this.#moves.get(at)) seen.add(at)
    const origin = at === undefined || seen.has(at) ? undefined : this.#touched.get(at)
    return origin?.before.bytes ? origin : null
  }

  #change(file: string, { place, before, after }: Touched): FileChange {
    const origin = this.#origin(file)
    if (origin && after) {
      // Codex says it in the diff too, for clients that show nothing else.
      const diff = `${diffOf(origin.before.bytes, after)}\n\nMoved to: ${place.path}`
      return { path: origin.place.path, kind: 'update', movePath: place.path, diff }
    }
    const change = { path: place.path, movePath: null }
    if (after === null) return { ...change, kind: 'delete', diff: clipped(textOf(before.bytes)) }
    if (before.bytes === null) return { ...change, kind: 'add', diff: clipped(textOf(after)) }
    return { ...change, kind: 'update', diff: diffOf(before.bytes, after) }
  }

  #lines(): readonly string[] {
    const lines = (['A', 'M', 'D'] as const).flatMap(letter =>
      this.#summary.filter(note => note.letter === letter).map(note => `${letter} ${note.path}`),
    )
    return [...new Set(lines)]
  }
}

/** Lines of context in the diffs of a patch, as in codex. */
const CONTEXT = 1

const diffOf = (before: Buffer | null, after: Buffer): string =>
  clipped(unifiedHunks(textOf(before), textOf(after), CONTEXT))

/** A file for a person to read; one that is no text is empty. */
function textOf(bytes: Buffer | null): string {
  const text = bytes?.toString('utf8') ?? ''
  return text.includes('\0') ? '' : text
}

/** Characters of one change that are worth sending to every client. */
const MAX_SHOWN = 512 * 1024

function clipped(text: string): string {
  if (text.length <= MAX_SHOWN) return text
  return `${text.slice(0, MAX_SHOWN)}\n[... ${text.length - MAX_SHOWN} more characters ...]\n`
}

const missing = (what: string): Refusal => new Refusal(`${what}: No such file or directory (os error 2)`)

function decode(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Refusal(`${what}: stream did not contain valid UTF-8`)
  }
}

/** A regular file of a size that can be patched; anything else is refused before it is read. */
function readContent(file: string, what: string): Content {
  let fd: number
  try {
    // Not blocking, so that a pipe cannot hold us up, and not through a link that was put there since we looked.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return GONE
    throw new Refusal(`${what}: ${osErrorText(error)}`)
  }
  try {
    const stats = fstatSync(fd)
    if (stats.isDirectory()) throw new Refusal(`${what}: Is a directory (os error 21)`)
    if (!stats.isFile()) throw new Refusal(`${what}: it is not a regular file`)
    if (stats.size > MAX_FILE) throw new Refusal(`${what}: it is too large (${stats.size} bytes)`)
    return { bytes: readFileSync(fd), stats }
  } finally {
    closeSync(fd)
  }
}
