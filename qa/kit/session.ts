import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Options, readOptions } from './options.ts'
import { makeRunFolder, remove } from './place.ts'
import { Verdicts } from './verdicts.ts'
import { type Strict, Witness } from './witness.ts'

/** What all judges of one run share. */
export interface Session {
  readonly options: Options
  readonly verdicts: Verdicts
  /** Sees every frame the server sends; null when no strict schemas are there. */
  readonly witness: Witness | null
  /** Temporary folder of the run. */
  readonly root: string
}

/** A judge: it gives its verdicts and leaves nothing behind. */
export type Judge = (session: Session) => Promise<void>

const STRICT = join(import.meta.dirname, '../conformance/strict.ts')

/** Runs judges one after the other, then tells about the frames and the total. Resolves with the exit code. */
export async function runJudges(judges: readonly Judge[], options: Options): Promise<number> {
  const verdicts = new Verdicts()
  const root = makeRunFolder()
  // A run that is broken off leaves nothing behind either.
  if (!options.keep) process.once('exit', () => remove(root))
  try {
    const session = { options, verdicts, root, witness: await openWitness(options, verdicts) }
    for (const judge of judges) await judge(session)
    if (session.witness) tellConformance(session.witness, options, verdicts)
  } catch (error) {
    verdicts.fail('run', error instanceof Error ? (error.stack ?? error.message) : String(error))
  }
  if (options.keep) verdicts.note(`kept ${root}`)
  return verdicts.total()
}

/** Runs one judge as a program of its own: `tsx qa/NAME.ts [options] [-- server command]`. */
export async function runAlone(judge: Judge): Promise<void> {
  process.exit(await runJudges([judge], readOptions(process.argv.slice(2))))
}

async function openWitness(options: Options, verdicts: Verdicts): Promise<Witness | null> {
  if (options.without.includes('conformance')) return null
  if (!existsSync(STRICT)) {
    verdicts.fail('conformance', 'qa/conformance/strict.ts is not there')
    return null
  }
  const { createStrict } = (await import(pathToFileURL(STRICT).href)) as { createStrict: (pin: string) => Strict }
  return new Witness(new Map(options.pins.map(pin => [pin, createStrict(pin)])))
}

function tellConformance(witness: Witness, options: Options, verdicts: Verdicts): void {
  const { violations, frames } = witness
  const name = `conformance of ${frames} frames with ${options.pins.join(' and ')}`
  if (violations.length === 0) {
    verdicts.ok(name)
    return
  }
  const lines = violations.flatMap(({ pin, method, complaint, times, example }) => [
    `${pin} ${method}: ${complaint} (${times} times)`,
    `  ${example}`,
  ])
  verdicts.fail(name, `${violations.length} kinds of violation`, lines.join('\n'))
}
