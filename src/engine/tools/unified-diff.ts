import { structuredPatch } from 'diff'

/** Edits after which two texts are simply called different: finding the shortest way would take too long. */
const MAX_EDITS = 5_000

/** The hunks of a unified diff, each with its `@@` line, without file headers. Empty when the texts are equal. */
export function unifiedHunks(before: string, after: string, context: number): string {
  const options = { context, maxEditLength: MAX_EDITS, timeout: 200 }
  const patch = structuredPatch('a', 'b', before, after, undefined, undefined, options)
  const hunks = patch ? patch.hunks : [wholeHunk(before, after)]
  return hunks.map(hunk => `@@ -${oldRange(hunk)} +${newRange(hunk)} @@\n${hunk.lines.join('\n')}\n`).join('')
}

interface Hunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly lines: readonly string[]
}

const oldRange = (hunk: Hunk): string => range(hunk.oldStart, hunk.oldLines)
const newRange = (hunk: Hunk): string => range(hunk.newStart, hunk.newLines)

/** As git writes it: one line needs no count, and none lie before the first. */
function range(start: number, count: number): string {
  if (count === 1) return `${start}`
  return `${count === 0 ? start - 1 : start},${count}`
}

/** Everything goes, everything comes. */
function wholeHunk(before: string, after: string): Hunk {
  const gone = marked(before, '-')
  const come = marked(after, '+')
  return {
    oldStart: 1,
    oldLines: gone.count,
    newStart: 1,
    newLines: come.count,
    lines: [...gone.lines, ...come.lines],
  }
}

function marked(text: string, mark: string): { readonly lines: readonly string[]; readonly count: number } {
  if (text === '') return { lines: [], count: 0 }
  const ended = text.endsWith('\n')
  const lines = (ended ? text.slice(0, -1) : text).split('\n').map(line => mark + line)
  return { lines: ended ? lines : [...lines, '\\ No newline at end of file'], count: lines.length }
}
