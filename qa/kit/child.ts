import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Groups of processes this run started and has not ended yet, by the id of their leader. */
const groups = new Set<number>()

process.once('exit', killAll)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
}

/** Starts a process as leader of a group of its own, so that it can be ended with all its children and nobody else's. */
export function start(argv: readonly string[], options: SpawnOptions): ChildProcess {
  const [program, ...rest] = argv
  if (program === undefined) throw new Error('no command to start')
  const child = spawn(program, rest, { ...options, detached: true })
  if (child.pid !== undefined) groups.add(child.pid)
  return child
}

/** Resolves when the process has ended; also when it could not be started at all (code 127). */
export function exitOf(child: ChildProcess): Promise<Exit> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode })
  }
  return new Promise(resolve => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.once('error', () => resolve({ code: 127, signal: null }))
  })
}

/** Ends a process started by `start` together with its group. */
export function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  if (child.pid === undefined || !groups.has(child.pid)) return
  signalGroup(child.pid, signal)
  if (signal === 'SIGKILL') groups.delete(child.pid)
}

/** Resolves with what `promise` gives, or with `otherwise` after `ms` milliseconds. */
export async function within<T, O>(ms: number, promise: Promise<T>, otherwise: O): Promise<T | O> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<O>(resolve => {
    timer = setTimeout(() => resolve(otherwise), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

function killAll(): void {
  for (const pid of groups) signalGroup(pid, 'SIGKILL')
  groups.clear()
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch {
    // The group is gone already.
  }
}
