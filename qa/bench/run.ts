import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { load } from './machine.ts'
import { MEASURES } from './measures.ts'
import { startMock } from './mock.ts'
import { type Options, readOptions } from './options.ts'
import { buildPrograms } from './programs.ts'
import { type Round, type Run, takeMeasure } from './rounds.ts'
import { subjectOf } from './servers.ts'
import { Stage } from './stage.ts'
import { summaryTable } from './summary.ts'
import { measureTable, type Result, resultOf } from './tables.ts'

/**
 * `npm run bench -- [--only startup,turns] [--names skein,node-floor] [--runs 3] [--quick]` measures Skein beside codex and
 * the floor of this machine. Tables go to standard output and, with every run, into `--out`.
 */
async function main(argv: readonly string[]): Promise<void> {
  const options = readOptions(argv)
  if (process.platform !== 'linux') throw new Error('the bench reads /proc, so it runs on Linux only')
  const programs = await buildPrograms(join(options.tmp, 'programs'))
  const subjects = await Promise.all(options.names.map(name => subjectOf(name, programs)))
  const mock = await startMock(programs.model)
  const stage = new Stage(pathsOf(options, mock.url), options.quick)
  try {
    await measureAll({ stage, subjects, options, model: mock.pid })
  } finally {
    await stage.clear()
    mock.stop()
  }
}

const pathsOf = ({ tmp }: Options, modelUrl: string) => ({
  modelUrl,
  work: join(tmp, 'work'),
  userHome: join(tmp, 'user-home'),
  homes: join(tmp, 'homes'),
  fixtures: join(tmp, 'fixtures'),
})

async function measureAll(round: Round): Promise<void> {
  const { options } = round
  const report = new Report(options)
  report.print(`# ${options.names.join(', ')}\n\n${circumstances(options)}\n`)
  const results = new Map<string, Result>()
  for (const measure of MEASURES.filter(measure => options.only.includes(measure.id))) {
    const runs = await takeMeasure(measure, round, run => report.log(run))
    const result = resultOf(runs)
    results.set(measure.id, result)
    if (runs.length > 0) report.print(measureTable(measure, result, options.names))
  }
  report.print(`## The measures that matter\n\n${summaryTable(results, options)}\n`)
}

const circumstances = ({ runs, quick }: Options): string =>
  [
    `${new Date().toISOString().slice(0, 10)}, ${runs} runs, median (least..most)`,
    `${cpus().length} x ${cpus()[0]?.model ?? 'CPU'}`,
    `node ${process.version}`,
    `load ${load()}`,
    ...(quick ? ['QUICK: small sizes, these numbers compare with nothing'] : []),
  ].join('; ')

/** What a run leaves behind: a line for each run, and the tables. */
class Report {
  readonly #runs: string
  readonly #tables: string

  constructor({ out }: Options) {
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-')
    mkdirSync(out, { recursive: true })
    this.#runs = join(out, `runs-${stamp}.jsonl`)
    this.#tables = join(out, `tables-${stamp}.md`)
    writeFileSync(this.#tables, '')
  }

  log(run: Run): void {
    appendFileSync(this.#runs, `${JSON.stringify(run)}\n`)
    const failure = run.readings.ERROR === undefined ? '' : ` ERROR ${run.readings.ERROR}`
    process.stderr.write(`${run.measure} ${run.server} run ${run.run}: ${run.seconds.toFixed(1)} s${failure}\n`)
  }

  print(text: string): void {
    console.log(text)
    appendFileSync(this.#tables, `${text}\n`)
  }
}

await main(process.argv.slice(2))
process.exit(0)
