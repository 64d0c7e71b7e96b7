import { sleep } from '../kit/child.ts'
import { cpuOf, ownCpu, readProc, TICKS } from './proc.ts'

/** Cores that others may use on a machine that counts as quiet. */
const QUIET_CORES = 0.25

/** How loaded the machine says it is (average of one minute). */
export const load = (): number => Number(readProc('loadavg').split(' ')[0])

/** Tells how many cores were used by processes that are none of ours since it was made. */
export class Noise {
  readonly #model: number
  readonly #since = performance.now()
  readonly #busy = busySeconds()
  readonly #ours: number

  /** `model` is the process of the mock model. The servers count as ours once they have ended, so ask after that. */
  constructor(model: number) {
    this.#model = model
    this.#ours = this.#oursNow()
  }

  cores(): number {
    const others = busySeconds() - this.#busy - (this.#oursNow() - this.#ours)
    return Math.max(0, others) / ((performance.now() - this.#since) / 1000)
  }

  #oursNow(): number {
    return ownCpu(process.pid) + cpuOf(this.#model)
  }
}

/** Waits until the others leave the machine alone, at most `seconds`. */
export async function untilQuiet(model: number, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const noise = new Noise(model)
    await sleep(1000)
    if (noise.cores() < QUIET_CORES) return
  }
}

/** CPU seconds of the whole machine since it started: user, nice, system and interrupts. */
function busySeconds(): number {
  const fields = readProc('stat').split('\n')[0]?.trim().split(/\s+/).slice(1).map(Number) ?? []
  return [0, 1, 2, 5, 6].reduce((sum, i) => sum + (fields[i] ?? 0), 0) / TICKS
}
