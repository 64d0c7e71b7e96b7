import type { Run } from './rounds.ts'
import type { Measure, Readings } from './stage.ts'
import { type Spread, short, spreadOf } from './stats.ts'

/** What the runs of a measure gave, by server, then by metric. */
export type Result = ReadonlyMap<string, ReadonlyMap<string, Spread>>

/** Condenses the runs of one measure. */
export function resultOf(runs: readonly Run[]): Result {
  const result = new Map<string, ReadonlyMap<string, Spread>>()
  for (const { server } of runs) {
    if (!result.has(server)) result.set(server, spreads(runs.filter(run => run.server === server)))
  }
  return result
}

function spreads(runs: readonly { readonly readings: Readings }[]): ReadonlyMap<string, Spread> {
  const metrics = new Set(runs.flatMap(run => Object.keys(run.readings)))
  const valuesOf = (metric: string): (number | string)[] =>
    runs.map(run => run.readings[metric]).filter(value => value !== undefined)
  return new Map([...metrics].map(metric => [metric, spreadOf(valuesOf(metric))]))
}

/** The table of one measure: median (least..most) for each server, and the ratio to the first of `order`. */
export function measureTable(measure: Measure, result: Result, order: readonly string[]): string {
  const servers = order.filter(name => result.has(name))
  const [base = '', ...others] = servers
  const metrics = new Set(servers.flatMap(name => [...(result.get(name)?.keys() ?? [])]))
  const of = (name: string, metric: string): Spread | undefined => result.get(name)?.get(metric)
  const rows = [...metrics].map(metric => [
    metric,
    ...servers.map(name => cell(of(name, metric))),
    ...others.map(name => ratio(of(name, metric), of(base, metric))),
  ])
  const head = ['metric', ...servers, ...others.map(name => `${name} / ${base}`)]
  return `## ${measure.title}\n\n${markdown(head, rows)}\n`
}

/** A Markdown table: the first column of words, the others of numbers. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map(text => text.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  const rule = `|---|${head
    .slice(1)
    .map(() => '---:|')
    .join('')}`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

/** A value as it stands in a table. */
export function cell(spread: Spread | undefined): string {
  if (spread === undefined) return '-'
  if ('text' in spread) return spread.text
  const { median, min, max, runs } = spread
  return runs > 1 ? `${short(median)} (${short(min)}..${short(max)})` : short(median)
}

function ratio(of: Spread | undefined, base: Spread | undefined): string {
  const [a, b] = [number(of), number(base)]
  return Number.isFinite(a / b) ? `x${short(a / b)}` : ''
}

/** The median of a metric, or NaN where there is none. */
export const number = (spread: Spread | undefined): number =>
  spread !== undefined && 'median' in spread ? spread.median : Number.NaN
