/** One section of a patch: what it does to one file. Paths are as written, relative to where the patch is applied. */
export type PatchSection =
  | { readonly type: 'add'; readonly path: string; readonly text: string }
  | { readonly type: 'delete'; readonly path: string }
  | {
      readonly type: 'update'
      readonly path: string
      readonly movePath: string | null
      readonly chunks: readonly Chunk[]
    }

/** A run of lines to be replaced by others. Lines carry no line ends. */
export interface Chunk {
  /** Lines to be passed, one after the other, before the place is looked for (`@@ class A`, `@@ method()`). */
  readonly context: readonly string[]
  readonly lines: readonly ChunkLine[]
  /** The lines before are the last ones of the file. */
  readonly atEnd: boolean
}

/** A line that stays, goes or comes. */
export interface ChunkLine {
  readonly kind: ' ' | '-' | '+'
  readonly text: string
}

export type ParsedPatch =
  | { readonly ok: true; readonly sections: readonly PatchSection[] }
  /** In codex's words, which models know. */
  | { readonly ok: false; readonly error: string }

/** Patches over this many characters are refused before they are looked at. */
const MAX_PATCH = 16 * 1024 * 1024

/**
 * Reads a patch in codex's format. As forgiving as codex is, and no more than is unambiguous: blanks around markers, a
 * heredoc around the whole, blank lines between sections, a first chunk without `@@`, empty lines for empty context, and
 * line numbers after `@@`, which are not needed.
 */
export function parsePatch(text: string): ParsedPatch {
  if (text.length > MAX_PATCH) return { ok: false, error: 'invalid patch: it is too large' }
  const lines = text.trim().split(/\r?\n/)
  const inner = withoutHeredoc(lines)
  if (inner[0]?.trim() !== BEGIN) return invalid(`The first line of the patch must be '${BEGIN}'`)
  if (inner.length < 2 || inner.at(-1)?.trim() !== END) return invalid(`The last line of the patch must be '${END}'`)
  try {
    return { ok: true, sections: new SectionReader(inner.slice(1, -1)).sections() }
  } catch (error) {
    if (error instanceof BadHunk) return { ok: false, error: error.message }
    throw error
  }
}

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const ADD = '*** Add File: '
const DELETE = '*** Delete File: '
const UPDATE = '*** Update File: '
const MOVE = '*** Move to: '
const END_OF_FILE = '*** End of File'

const invalid = (message: string): ParsedPatch => ({ ok: false, error: `invalid patch: ${message}` })

class BadHunk extends Error {
  constructor(line: number, message: string) {
    super(`invalid hunk at line ${line}, ${message}`)
  }
}

function withoutHeredoc(lines: readonly string[]): readonly string[] {
  const opened = /^<<-?\s*(['"]?)(\w+)\1$/.exec(lines[0] ?? '')
  return opened && lines.length >= 4 && lines.at(-1)?.endsWith(opened[2]!) ? lines.slice(1, -1) : lines
}

class SectionReader {
  readonly #lines: readonly string[]
  #at = 0

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  sections(): readonly PatchSection[] {
    const found: PatchSection[] = []
    for (this.#skipBlank(); this.#line !== undefined; this.#skipBlank()) found.push(this.#section(this.#line.trim()))
    return found
  }

  /** Number of the current line in the patch, counted from 1. */
  get #number(): number {
    return this.#at + 2
  }

  get #line(): string | undefined {
    return this.#lines[this.#at]
  }

  #skipBlank(): void {
    while (this.#line?.trim() === '') this.#at++
  }

  #section(header: string): PatchSection {
    const start = this.#number
    this.#at++
    if (header.startsWith(ADD)) return { type: 'add', path: header.slice(ADD.length), text: this.#added() }
    if (header.startsWith(DELETE)) return { type: 'delete', path: header.slice(DELETE.length) }
    if (header.startsWith(UPDATE)) return this.#update(header.slice(UPDATE.length), start)
    throw new BadHunk(
      start,
      `'${header}' is not a valid hunk header. Valid hunk headers: '${ADD}{path}', '${DELETE}{path}', '${UPDATE}{path}'`,
    )
  }

  #added(): string {
    let text = ''
    for (; this.#line?.startsWith('+'); this.#at++) text += `${this.#line.slice(1)}\n`
    return text
  }

  #update(path: string, start: number): PatchSection {
    const move = this.#line?.trim().startsWith(MOVE) ? this.#line.trim().slice(MOVE.length) : null
    if (move !== null) this.#at++
    const chunks: Chunk[] = []
    for (this.#skipBlank(); this.#line !== undefined && !this.#line.startsWith('***'); this.#skipBlank()) {
      chunks.push(this.#chunk(chunks.length === 0))
    }
    if (chunks.length === 0 && move === null) throw new BadHunk(start, `Update file hunk for path '${path}' is empty`)
    return { type: 'update', path, movePath: move, chunks }
  }

  #chunk(first: boolean): Chunk {
    const context = this.#contexts()
    if (context === null && !first) {
      const got = `got: '${this.#line}'`
      throw new BadHunk(this.#number, `Expected update hunk to start with a @@ context marker, ${got}`)
    }
    const lines: ChunkLine[] = []
    for (let line = this.#change(); line; line = this.#change()) {
      lines.push(line)
      this.#at++
    }
    const atEnd = this.#line?.trim() === END_OF_FILE
    if (lines.length === 0) throw new BadHunk(this.#number, this.#whyEmpty(atEnd))
    if (atEnd) this.#at++
    return { context: context ?? [], lines, atEnd }
  }

  /** The lines after one or more `@@`; null when there is no `@@` at all. */
  #contexts(): readonly string[] | null {
    const start = this.#at
    const contexts: string[] = []
    for (; this.#line !== undefined && /^@@( |$)/.test(this.#line.trimEnd()); this.#at++) {
      const wanted = this.#line.slice(3).replace(/^-\d+(,\d+)? \+\d+(,\d+)? @@ ?/, '')
      if (wanted.trim() !== '') contexts.push(wanted)
    }
    return this.#at === start ? null : contexts
  }

  #change(): ChunkLine | null {
    const line = this.#line
    if (line === undefined) return null
    // A model leaves the blank away that an empty line of context should start with.
    if (line === '') return { kind: ' ', text: '' }
    const kind = line[0]
    return kind === ' ' || kind === '-' || kind === '+' ? { kind, text: line.slice(1) } : null
  }

  #whyEmpty(atEnd: boolean): string {
    if (atEnd || this.#line === undefined) return 'Update hunk does not contain any lines'
    const rule = "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)"
    return `Unexpected line found in update hunk: '${this.#line}'. ${rule}`
  }
}
