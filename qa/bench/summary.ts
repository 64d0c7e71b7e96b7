import { short } from './stats.ts'
import { markdown, number, type Result } from './tables.ts'

/** One line of the summary: a metric that a user feels or pays for. */
interface Line {
  readonly label: string
  readonly measure: string
  readonly metric: string
  readonly better: 'less' | 'more'
  /** Ratio to the better codex that we want to reach, when both are measured in the same run. */
  readonly target: number
}

const OURS = 'skein'
const CODEX = /^codex-/

const LINES: readonly Line[] = [
  line('startup', 'warm home ms', 'start, warm home, ms', 0.95),
  line('startup', 'fresh home ms', 'start, fresh home, ms', 0.5),
  line('memory', 'after init RSS MiB', 'resident memory after initialize, MiB', 0.9),
  line('memory', '500 threads RSS MiB', 'resident memory, 500 idle threads, MiB', 0.26),
  line('memory', 'thread/start p50 ms', 'thread/start p50, ms', 0.1),
  line('turns', 'seq p50 ms', 'turn with an instant model, p50, ms', 0.1),
  line('turns', 'CPU ms/turn', 'CPU per turn, ms', 0.08),
  { ...line('turns', 'c=50 turns/s', 'turns per second, 50 threads', 12), better: 'more' },
  line('stream', 'CPU us/delta', 'CPU per streamed delta, us', 0.15),
  line('fanout', 'burst CPU us/frame', 'CPU per frame, burst to 50 subscribers, us', 0.5),
  line('fanout', 'paced max lag ms', 'longest lag, 1,000 deltas/s to 50 subscribers, ms', 0.13),
  line('ttfd', 'added p50 ms', 'added to the first delta, p50, ms', 0.1),
  line('exec', 'overhead p50 ms', 'command `true`, added to the turn, p50, ms', 0.17),
  line('exec', '10MB output turn ms', 'command with 10 MB of output, ms', 0.95),
  line('list', '10000: init, no index ms', 'initialize, 10,000 threads without index, ms', 0.006),
  line('list', '10000: warm list p50 ms', 'first page of 10,000 threads, warm, ms', 0.1),
  line('long', 'read includeTurns ms', 'thread/read of 2,000 turns, ms', 0.3),
  line('long', 'resume, with index ms', 'thread/resume of it, ms', 0.18),
  { ...line('crash', 'after kill -9: partial text kept %', 'streamed text kept after kill -9, %', 1), better: 'more' },
  line('slow', 'with slow reader: peak USS growth MiB', 'private memory for a reader that hangs, MiB', 1),
  line('conns', 'all initialized ms', '1,000 WebSocket clients, all in, ms', 0.4),
  line('conns', 'USS KiB per connection', 'private memory per connection, KiB', 0.25),
]

function line(measure: string, metric: string, label: string, target: number): Line {
  return { measure, metric, label, target, better: 'less' }
}

/**
 * The measures that matter, each with the ratio to the better codex of the same run and whether that reaches its target. A
 * quick run judges nothing. Lines that were not measured are left out.
 */
export function summaryTable(
  results: ReadonlyMap<string, Result>,
  { names, quick }: { readonly names: readonly string[]; readonly quick: boolean },
): string {
  const rows = LINES.flatMap(line => {
    const values = names.map(name => number(results.get(line.measure)?.get(name)?.get(line.metric)))
    if (!values.some(Number.isFinite)) return []
    const ratio = ratioToCodex(line, values, names)
    const wanted = `${line.better === 'less' ? '<=' : '>='} x${line.target}`
    return [
      [
        line.label,
        ...values.map(short),
        Number.isFinite(ratio) ? `x${short(ratio)}` : '-',
        wanted,
        quick ? '' : verdict(line, ratio),
      ],
    ]
  })
  return markdown(['measure', ...names, `${OURS} / better codex`, 'target', 'verdict'], rows)
}

/** NaN unless both were measured. */
function ratioToCodex({ better }: Line, values: readonly number[], names: readonly string[]): number {
  const codex = values.filter((value, i) => CODEX.test(names[i] ?? '') && Number.isFinite(value))
  const ours = values[names.indexOf(OURS)] ?? Number.NaN
  if (codex.length === 0) return Number.NaN
  return ours / (better === 'less' ? Math.min(...codex) : Math.max(...codex))
}

function verdict({ better, target }: Line, ratio: number): string {
  if (Number.isNaN(ratio)) return ''
  if (better === 'less' ? ratio <= target : ratio >= target) return 'reached'
  const isBetter = better === 'less' ? ratio < 1 : ratio > 1
  return isBetter ? 'better, target missed' : 'not better'
}
