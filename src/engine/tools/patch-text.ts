import type { Chunk, ChunkLine } from './patch.ts'

/** A text file taken apart so that it can be put together again byte for byte. */
interface TextFile {
  readonly bom: string
  readonly lines: readonly Line[]
  /** What a new line ends with: what most lines of the file end with. */
  readonly eol: string
}

interface Line {
  readonly text: string
  /** `\n`, `\r\n`, or nothing for a last line without an end. */
  readonly eol: string
}

export type Applied = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly error: string }

/** Comparisons of lines before a search is given up: a patch made to match everywhere must not stop the server. */
const MAX_STEPS = 20_000_000

/**
 * A file's text after the chunks of a patch. Byte order mark, line ends and a missing last line end stay as they are.
 * `name` is the file as error texts call it.
 */
export function applyChunks(text: string, chunks: readonly Chunk[], name: string): Applied {
  const file = takeApart(text)
  const search = new Search(file.lines.map(line => line.text))
  const edits: Edit[] = []
  let from = 0
  for (const chunk of chunks) {
    const found = locate(search, chunk, from)
    if ('missing' in found) return { ok: false, error: missingText(found.missing, name, search) }
    edits.push(found)
    // A chunk that only adds, at the end of the file, says nothing about where the next one is.
    const length = oldLines(found.lines).length
    if (length > 0) from = found.start + length
  }
  return { ok: true, text: putTogether(file, edits) }
}

interface Edit {
  /** Index of the first line it touches. */
  readonly start: number
  readonly lines: readonly ChunkLine[]
}

const oldLines = (lines: readonly ChunkLine[]): readonly string[] =>
  lines.filter(line => line.kind !== '+').map(line => line.text)

type Missing = { readonly context: string } | { readonly lines: readonly string[] }

function locate(search: Search, chunk: Chunk, from: number): Edit | { readonly missing: Missing } {
  let start = from
  for (const context of chunk.context) {
    const found = search.find([context], start, false)
    if (found === null) return { missing: { context } }
    start = found + 1
  }
  const { lines } = chunk
  const before = oldLines(lines)
  if (before.length === 0) return { start: chunk.context.length > 0 ? start : search.end, lines }
  const found = search.find(before, start, chunk.atEnd)
  if (found !== null) return { start: found, lines }
  // Models write the file's last line end as an empty line.
  const again = before.at(-1) === '' ? search.find(before.slice(0, -1), start, chunk.atEnd) : null
  return again === null ? { missing: { lines: before } } : { start: again, lines: withoutLastEmpty(lines) }
}

/** Without the empty line that ends the old lines, and the one that ends the new ones if there is one. */
function withoutLastEmpty(lines: readonly ChunkLine[]): readonly ChunkLine[] {
  const lastOld = lines.findLastIndex(line => line.kind !== '+')
  const lastNew = lines.findLastIndex(line => line.kind !== '-')
  return lines.filter((line, i) => i !== lastOld && !(i === lastNew && line.text === ''))
}

function missingText(missing: Missing, name: string, search: Search): string {
  if (search.exhausted) return `Failed to find expected lines in ${name}: the patch matches in too many places`
  if ('context' in missing) return `Failed to find context '${missing.context}' in ${name}`
  return `Failed to find expected lines in ${name}:\n${missing.lines.join('\n')}`
}

/** How two lines may differ and still be the same, most alike first: the order in which codex tries. */
const LIKENESS: readonly ((line: string) => string)[] = [
  line => line,
  line => line.trimEnd(),
  line => line.trim(),
  line => asciiPunctuation(line.trim()),
]

/** Looks for runs of lines in a file. */
class Search {
  readonly #lines: readonly string[]
  readonly #views = new Map<number, readonly string[]>()
  #steps = 0

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  /** Whether it gave up. */
  get exhausted(): boolean {
    return this.#steps > MAX_STEPS
  }

  /** Where lines go that are added without a place. */
  get end(): number {
    return this.#lines.at(-1) === '' ? this.#lines.length - 1 : this.#lines.length
  }

  /** Index of the first run at or after `from` that is most like `wanted`; with `atEnd` only the file's last lines. */
  find(wanted: readonly string[], from: number, atEnd: boolean): number | null {
    if (wanted.length === 0) return from
    const last = this.#lines.length - wanted.length
    const first = atEnd ? last : from
    for (let level = 0; level < LIKENESS.length; level++) {
      const lines = this.#view(level)
      const pattern = wanted.map(LIKENESS[level]!)
      for (let at = Math.max(first, 0); at <= last; at++) {
        if (this.#matches(lines, pattern, at)) return at
      }
    }
    return null
  }

  #matches(lines: readonly string[], pattern: readonly string[], at: number): boolean {
    for (let i = 0; i < pattern.length; i++) {
      if (++this.#steps > MAX_STEPS || lines[at + i] !== pattern[i]) return false
    }
    return true
  }

  #view(level: number): readonly string[] {
    const known = this.#views.get(level)
    const view = known ?? this.#lines.map(LIKENESS[level]!)
    if (!known) this.#views.set(level, view)
    return view
  }
}

/** Typographic dashes, quotes and blanks as the plain ones that models write for them. */
function asciiPunctuation(text: string): string {
  return text
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\u2018-\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, ' ')
}

function takeApart(text: string): TextFile {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : ''
  const lines: Line[] = []
  let crlf = 0
  for (let from = bom.length; from < text.length; ) {
    const at = text.indexOf('\n', from)
    const end = at < 0 ? text.length : at
    const isCrlf = at > from && text[at - 1] === '\r'
    lines.push({ text: text.slice(from, isCrlf ? end - 1 : end), eol: at < 0 ? '' : isCrlf ? '\r\n' : '\n' })
    if (isCrlf) crlf++
    from = end + 1
  }
  const ended = lines.filter(line => line.eol !== '').length
  return { bom, lines, eol: crlf * 2 > ended ? '\r\n' : '\n' }
}

function putTogether(file: TextFile, edits: readonly Edit[]): string {
  const lines: Line[] = []
  let from = 0
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    while (from < edit.start) lines.push(file.lines[from++]!)
    for (const { kind, text } of edit.lines) {
      // What stays is the file's own line: the patch may have written it a little differently.
      if (kind === '+') lines.push({ text, eol: file.eol })
      else if (kind === ' ') lines.push(file.lines[from++]!)
      else from++
    }
  }
  while (from < file.lines.length) lines.push(file.lines[from++]!)
  return file.bom + joinLines(lines, file)
}

/** Every line but the last must have an end; the last one has one exactly if the file's last line had. */
function joinLines(lines: readonly Line[], file: TextFile): string {
  const ended = file.lines.length === 0 || file.lines.at(-1)!.eol !== ''
  const last = lines.length - 1
  return lines.map(({ text, eol }, i) => text + (i < last || ended ? eol || file.eol : '')).join('')
}
