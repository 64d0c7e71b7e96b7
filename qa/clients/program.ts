import { exitOf, kill, start, within } from '../kit/child.ts'
import { environment, type Place } from '../kit/place.ts'

/** What a program that ran to its end left. */
export interface Outcome {
  /** Exit code; null when it had to be killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program in `place` to its end; after `ms` milliseconds it is killed with its children. */
export async function run(
  argv: readonly string[],
  place: Place,
  env: Readonly<Record<string, string>> = {},
  ms = 60_000,
): Promise<Outcome> {
  const child = start(argv, { cwd: place.cwd, env: environment(place, env), stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  child.stdout?.on('data', chunk => {
    said.stdout += chunk
  })
  child.stderr?.on('data', chunk => {
    said.stderr += chunk
  })
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const exit = await within(ms, exitOf(child), null)
  kill(child)
  // What it wrote last may still be in the pipes.
  await within(1000, closed, null)
  return { code: exit?.code ?? null, ...said }
}

/** The last lines of what a program said, for a failure's report. */
export function words({ code, stdout, stderr }: Outcome): string {
  const tail = (text: string): string => text.trim().split('\n').slice(-8).join('\n')
  return `exit ${code ?? 'never'}\nstdout: ${tail(stdout)}\nstderr: ${tail(stderr)}`
}
