/** The value at a dotted path, e.g. `params.item.type`; undefined where the path ends early. */
export function dig(value: unknown, path: string): unknown {
  let at = value
  for (const key of path.split('.')) {
    if (typeof at !== 'object' || at === null) return undefined
    at = (at as Record<string, unknown>)[key]
  }
  return at
}

/** The string at a dotted path; throws when there is none, with the value it looked in. */
export function digText(value: unknown, path: string): string {
  const found = dig(value, path)
  if (typeof found === 'string') return found
  throw new Error(`no text at ${path} of ${JSON.stringify(value)?.slice(0, 400)}`)
}
