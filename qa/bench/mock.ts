import { kill, start, within } from '../kit/child.ts'

/** The mock model while it runs. */
export interface Mock {
  readonly pid: number
  /** `base_url` of a provider. */
  readonly url: string
  stop(): void
}

const START_MS = 10_000

/** Starts the bundled mock model in a process of its own, so that its work is in no server's numbers. */
export async function startMock(program: string): Promise<Mock> {
  const child = start([process.execPath, program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const line = new Promise<string>(resolve => child.stdout?.once('data', chunk => resolve(String(chunk))))
  const port = Number(await within(START_MS, line, ''))
  if (child.pid === undefined || !(port > 0)) throw new Error('the mock model did not start')
  return { pid: child.pid, url: `http://127.0.0.1:${port}/v1`, stop: () => kill(child) }
}
