import { type ChildProcess, fork } from 'node:child_process'
import { dirname, join } from 'node:path'
import { buildSync } from 'esbuild'

export interface RaceCounts {
  races: number
  /** Races that began with a lock whose owner had been killed. */
  takeovers: number
  readonly wrong: string[]
}

const WORKERS = 8

/**
 * Lets eight long-lived processes race for one lock, again and again; every now and then the winner is killed and another
 * process takes its place (`kills`: how many of the winners). Counts races that had any number of winners but one, and owners that lost what they had.
 */
export async function race(
  log: string,
  races: number,
  at: { readonly seed: number; readonly kills: number },
): Promise<RaceCounts> {
  const random = seeded(at.seed)
  const counts: RaceCounts = { races, takeovers: 0, wrong: [] }
  // Built once: a process that compiles its own source takes ten times as long to start.
  const program = join(dirname(log), 'worker.mjs')
  const source = join(import.meta.dirname, 'lock-worker.ts')
  buildSync({ entryPoints: [source], outfile: program, bundle: true, platform: 'node', format: 'esm' })
  const begin = (): Promise<ChildProcess> => start(program, log)
  const workers = await Promise.all(Array.from({ length: WORKERS }, begin))
  try {
    for (let n = 0; n < races; n++) await raceOnce(workers, { begin, n, random, counts, kills: at.kills })
  } finally {
    for (const worker of workers) worker.kill('SIGKILL')
  }
  return counts
}

interface Round {
  readonly begin: () => Promise<ChildProcess>
  readonly n: number
  readonly random: () => number
  readonly counts: RaceCounts
  /** Share of the winners that are killed. */
  readonly kills: number
}

async function raceOnce(workers: ChildProcess[], { begin, n, random, counts, kills }: Round): Promise<void> {
  const got = await Promise.all(workers.map(worker => ask(worker, 'take')))
  const winners = got.flatMap((won, at) => (won ? [at] : []))
  if (winners.length !== 1) counts.wrong.push(`race ${n} had ${winners.length} winners`)
  // Those that lost try again while the winner lives: nobody may take it from a live owner.
  const again = await Promise.all(workers.flatMap((worker, at) => (winners.includes(at) ? [] : [ask(worker, 'take')])))
  if (again.includes(true)) counts.wrong.push(`race ${n}: taken from a live owner`)
  for (const at of winners) {
    const winner = workers[at]!
    if (!(await ask(winner, 'held'))) counts.wrong.push(`race ${n}: the winner lost its lock`)
    if (random() < kills) {
      await kill(winner)
      workers[at] = await begin()
      counts.takeovers++
    } else await ask(winner, 'release')
  }
}

async function start(program: string, log: string): Promise<ChildProcess> {
  const worker = fork(program, [log], { execArgv: [] })
  await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  return worker
}

function ask(worker: ChildProcess, what: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('a worker has died'))
    worker.once('exit', gone)
    worker.once('message', answer => {
      worker.off('exit', gone)
      resolve(answer === true)
    })
    worker.send(what)
  })
}

function kill(worker: ChildProcess): Promise<void> {
  return new Promise(resolve => {
    worker.once('exit', () => resolve())
    worker.kill('SIGKILL')
  })
}

/** A sequence that is the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
