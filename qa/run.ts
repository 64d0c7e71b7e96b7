import { acp } from './clients/acp.ts'
import { exec } from './clients/exec.ts'
import { tui } from './clients/tui.ts'
import { differential } from './differential/run.ts'
import { docs } from './docs.ts'
import { faults } from './faults/clients.ts'
import { BACKENDS, type Backend } from './kit/backend.ts'
import { readOptions, wanted } from './kit/options.ts'
import { type Judge, runJudges } from './kit/session.ts'
import { replay } from './replay.ts'

/** One judge of a run. */
interface Part {
  readonly name: string
  readonly judge: Judge
  /** Models it is run with; a full run takes all. */
  readonly models: readonly Backend[]
  /** Only in a full run, or by name. */
  readonly full?: true
  /** Needs programs that are installed from npm. */
  readonly client?: true
}

const PARTS: readonly Part[] = [
  { name: 'replay', judge: replay, models: ['offline'] },
  { name: 'docs', judge: docs, models: ['offline'] },
  { name: 'differential', judge: differential, models: ['offline'] },
  { name: 'exec', judge: exec, models: BACKENDS, client: true },
  { name: 'acp', judge: acp, models: ['offline'], client: true },
  { name: 'faults', judge: faults, models: ['offline'], client: true, full: true },
  { name: 'tui', judge: tui, models: ['offline'], client: true, full: true },
]

/**
 * `npm run qa -- [options] [-- server command]` runs every judge, bounded; `--full` adds the terminals, the faults and all
 * models. `--only replay,docs` runs some judges, `--without clients` or `--without acp` leaves some out and says so.
 */
async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv)
  const { only, without, full } = options
  const unknown = [...only, ...without].find(name => !isKnown(name))
  if (unknown !== undefined)
    throw new Error(`there is no judge ${unknown}: one of ${PARTS.map(p => p.name).join(', ')}`)
  const parts = PARTS.filter(part => (only.length > 0 ? wanted(part.name, only) : full || !part.full))
  const isLeftOut = (part: Part): boolean =>
    without.includes(part.name) || (part.client === true && without.includes('clients'))
  const judges = parts.map(part => (isLeftOut(part) ? noted(part) : timed(part, full)))
  // What the options name are judges, which means nothing to a judge itself.
  const rest = { only: [], without: without.filter(name => name === 'conformance') }
  return runJudges(judges, { ...options, ...rest })
}

const isKnown = (name: string): boolean =>
  name === 'clients' || name === 'conformance' || PARTS.some(part => part.name === name)

const noted =
  ({ name }: Part): Judge =>
  async ({ verdicts }) =>
    verdicts.note(`left out: ${name}`)

/** Runs a judge on its models and says how long it took. */
function timed({ name, judge, models }: Part, full: boolean): Judge {
  return async session => {
    const since = Date.now()
    await judge({ ...session, options: { ...session.options, models: full ? BACKENDS : models } })
    session.verdicts.note(`${name}: ${Math.round((Date.now() - since) / 1000)} s`)
  }
}

process.exit(await main(process.argv.slice(2)))
