import { within } from '../kit/child.ts'
import { load, Noise, untilQuiet } from './machine.ts'
import type { Options } from './options.ts'
import type { Measure, Readings, Stage } from './stage.ts'
import type { Subject } from './subject.ts'

/** One run of one measure on one server. */
export interface Run {
  readonly measure: string
  readonly server: string
  readonly run: number
  readonly quick: boolean
  readonly noise: number
  readonly load: number
  readonly seconds: number
  readonly readings: Readings
}

/** Who takes part in a round, and with what. */
export interface Round {
  readonly stage: Stage
  readonly subjects: readonly Subject[]
  readonly options: Options
  /** The process of the mock model. */
  readonly model: number
}

export const NOISE = 'noise: cores used by others'

/**
 * Takes a measure of all servers, interleaved: A, B, C, then C, B, A, so that what changes on the machine meanwhile hits
 * all alike. `onRun` hears of each run as it ends.
 */
export async function takeMeasure(measure: Measure, round: Round, onRun: (run: Run) => void): Promise<readonly Run[]> {
  const subjects = round.subjects.filter(subject => !subject.skip.includes(measure.id))
  const runs: Run[] = []
  for (let run = 0; run < round.options.runs; run += 1) {
    for (const subject of run % 2 === 0 ? subjects : subjects.toReversed()) {
      const taken = await quietRun(measure, subject, run, round)
      runs.push(taken)
      onRun(taken)
    }
  }
  return runs
}

/** A run that others did not disturb, or the last one tried. */
async function quietRun(measure: Measure, subject: Subject, run: number, round: Round): Promise<Run> {
  const { maxNoise, retries, waitQuiet } = round.options
  for (let tried = 0; ; tried += 1) {
    if (waitQuiet > 0) await untilQuiet(round.model, waitQuiet)
    const taken = await oneRun(measure, subject, run, round)
    if (taken.noise <= maxNoise || tried >= retries) return taken
    process.stderr.write(`  ${measure.id} ${subject.name}: ${taken.noise.toFixed(2)} cores used by others, again\n`)
  }
}

async function oneRun(measure: Measure, subject: Subject, run: number, round: Round): Promise<Run> {
  const { stage, options, model } = round
  const readings: Readings = {}
  const noise = new Noise(model)
  const since = performance.now()
  const work = measure.run(stage, subject, readings).then(
    () => null,
    why => String(why),
  )
  const failure = await within(options.budget * 1000, work, 'it took too long')
  if (failure !== null) readings.ERROR = failure.slice(0, 200)
  await stage.clear()
  // A run that was given up still has promises under way; they end with their servers.
  if (failure !== null) await within(5000, work, null)
  const cores = noise.cores()
  const seconds = (performance.now() - since) / 1000
  // A copy: whatever a run that was given up still writes is of no use.
  const kept = { ...readings, [NOISE]: cores }
  return {
    measure: measure.id,
    server: subject.name,
    run,
    quick: options.quick,
    noise: cores,
    load: load(),
    seconds,
    readings: kept,
  }
}
