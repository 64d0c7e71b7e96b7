/** A result and the milliseconds it took. */
export interface Timed<T> {
  readonly ms: number
  readonly value: T
}

/** Does something and times it. */
export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const since = performance.now()
  const value = await work()
  return { ms: performance.now() - since, value }
}
