/** The least value that at least `percent` percent of the values do not exceed; NaN of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const rank = Math.max(0, Math.ceil((percent / 100) * values.length) - 1)
  return sorted(values)[rank] ?? Number.NaN
}

/** The middle of the finite values, the mean of the two middle ones of an even count; NaN of nothing. */
export function median(values: readonly number[]): number {
  const all = sorted(values.filter(Number.isFinite))
  const half = all.length >> 1
  const upper = all[half] ?? Number.NaN
  return all.length % 2 === 1 ? upper : ((all[half - 1] ?? Number.NaN) + upper) / 2
}

/** What the runs of one measure gave for one metric: numbers are condensed, of words the last ones count. */
export type Spread =
  | { readonly median: number; readonly min: number; readonly max: number; readonly runs: number }
  | { readonly text: string }

/** Condenses the values that the runs gave for one metric. */
export function spreadOf(values: readonly (number | string)[]): Spread {
  const numbers = values.filter(value => typeof value === 'number' && Number.isFinite(value)) as number[]
  if (numbers.length === 0) return { text: String(values.at(-1) ?? '-') }
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers), runs: numbers.length }
}

/** A number with about three digits that say something. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '-'
  const size = Math.abs(value)
  if (size >= 1000) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)
