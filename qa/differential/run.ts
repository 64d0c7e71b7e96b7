import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wanted } from '../kit/options.ts'
import { runAlone, type Session } from '../kit/session.ts'
import { compare, type Divergence } from './compare.ts'
import { concerns, type Difference, readDifferences } from './differences.ts'
import { type Line, readRecording, writeRecording } from './recording.ts'
import { rewrite } from './rewrite.ts'
import type { Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'
import { Stage } from './stage.ts'
import { ABSENT } from './unify.ts'

const GOLDENS = join(import.meta.dirname, '../goldens')
const DIFFERENCES = join(import.meta.dirname, '../differences.json')
const REQUIRED = join(import.meta.dirname, 'required.json')

/**
 * Repeats the recorded conversations with the server under test and compares them with the goldens of codex 0.142.5. Without
 * `--only` it takes the scenarios that the issues ask for (required.json); `--only '*'` takes all, and `issue:2` those of one.
 * With the word `raw` no difference is applied: the real codex must need none.
 */
export async function differential(session: Session): Promise<void> {
  const { options, verdicts } = session
  const raw = options.rest.includes('raw')
  const all = raw ? [] : readDifferences(DIFFERENCES)
  const idle = new Set(all)
  const chosen = scenarios.filter(scenario => wanted(scenario.name, namesOf(options.only)))
  await atOnce(options.jobs, chosen, async scenario => {
    const differences = all.filter(entry => concerns(entry, scenario.name))
    await verdicts.check(`differential ${scenario.name}`, async () => {
      const golden = rewrite(readRecording(join(GOLDENS, `${scenario.name}.jsonl`)), differences)
      for (const entry of golden.used) idle.delete(entry)
      await judge(scenario, golden.lines, session)
    })
  })
  const judged = (entry: Difference): boolean =>
    scenarios.filter(({ name }) => concerns(entry, name)).every(one => chosen.includes(one))
  const unused = [...idle].filter(judged)
  if (unused.length === 0) return
  verdicts.fail('differences', `${unused.length} entries change nothing`, unused.map(e => JSON.stringify(e)).join('\n'))
}

/** Does something with every entry, at most `jobs` at a time: scenarios mostly wait. */
async function atOnce<T>(jobs: number, entries: readonly T[], work: (entry: T) => Promise<void>): Promise<void> {
  const left = [...entries]
  const worker = async (): Promise<void> => {
    for (let entry = left.shift(); entry !== undefined; entry = left.shift()) await work(entry)
  }
  await Promise.all(Array.from({ length: jobs }, worker))
}

/** Plays one scenario; throws when it differs from its golden. */
async function judge(scenario: Scenario, golden: readonly Line[], session: Session): Promise<void> {
  const { ours, failure } = await record(scenario, session)
  const divergences = compare(golden, ours, new Set(session.options.ignore))
  if (failure !== null) throw new Error([failure, ...divergences.map(describe)].join('\n'))
  if (divergences.length === 0) return
  throw new Error([`${divergences.length} streams differ`, ...divergences.map(describe)].join('\n'))
}

/** Plays a scenario and gives what passed; a failure of the script itself is told beside it. */
async function record(
  scenario: Scenario,
  { options, root, witness }: Session,
): Promise<{ readonly ours: readonly Line[]; readonly failure: string | null }> {
  const stage = await Stage.open(scenario, options.server, root, witness)
  let failure: string | null = null
  try {
    await scenario.run(stage)
  } catch (error) {
    failure = `${error instanceof Error ? error.message : String(error)}\n${stage.lastWords}`
  } finally {
    await stage.close()
  }
  keep(scenario.name, stage)
  return { ours: stage.recording(), failure }
}

/** `SKEIN_QA_RECORD=FOLDER` keeps the recordings, in the form of the goldens. */
function keep(name: string, stage: Stage): void {
  const folder = process.env.SKEIN_QA_RECORD
  if (!folder) return
  mkdirSync(join(folder, 'model'), { recursive: true })
  writeRecording(join(folder, `${name}.jsonl`), stage.recording())
  const requests = stage.modelRequests()
  if (requests.length > 0) writeRecording(join(folder, 'model', `${name}.jsonl`), requests)
}

function namesOf(only: readonly string[]): readonly string[] {
  const required = JSON.parse(readFileSync(REQUIRED, 'utf8')) as Readonly<Record<string, readonly string[]>>
  if (only.length === 0) return Object.values(required).flat()
  return only.flatMap(word => (word.startsWith('issue:') ? (required[word.slice(6)] ?? []) : [word]))
}

function describe({ stream, index, at, message, golden, ours }: Divergence): string {
  const where = `${stream} #${index} at ${at || 'the top'}`
  const whole = at === '' ? '' : `\n  in     ${show(message, 200)}`
  return `${where}\n  golden ${show(golden, 500)}\n  ours   ${show(ours, 500)}${whole}`
}

function show(value: unknown, length: number): string {
  if (value === ABSENT) return '(nothing)'
  const text = JSON.stringify(value) ?? ''
  return text.length > length ? `${text.slice(0, length)}...` : text
}

if (!existsSync(GOLDENS)) throw new Error('qa/goldens is not there')
if (import.meta.filename === process.argv[1]) await runAlone(differential)
