/** Runs `run` once after `ms` milliseconds unless the function it gives back is called first. Passed in, so that tests own time. */
export type After = (ms: number, run: () => void) => () => void

/** The real one. A pending timer never keeps the process alive. */
export const systemAfter: After = (ms, run) => {
  const timer = setTimeout(run, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
