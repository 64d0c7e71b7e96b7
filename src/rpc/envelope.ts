/** Deepest nesting a message may have, itself included; the parsers of the real clients stop there too. */
export const MAX_DEPTH = 128

/** Most keys a message may have at its top level: ours has five, and remembering them must stay cheap. */
const MAX_KEYS = 64

/** What can be told about a message without parsing it. Only sure for text that is valid JSON. */
export interface Envelope {
  /** The text is an object, not an array or a scalar. */
  readonly object: boolean
  /** JSON text of the first top-level `id`, null where there is none. */
  readonly id: string | null
  /** What is wrong with the envelope as such (a repeated key, too deep), null if nothing is. */
  readonly fault: string | null
  /** Nested too deep to be parsed at all. */
  readonly deep: boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/** Looks once over `text`, in time proportional to its length and with no stack, however deep it is. */
export function scanEnvelope(text: string): Envelope {
  let depth = 0
  let deepest = 0
  let key: string | null = null // the top-level key just read, or whose value is being read
  let valueAt = -1 // where that value begins; -1 while a key is awaited
  let id: string | null = null
  let repeated: string | null = null
  const keys = new Set<string>()

  const endValue = (at: number): void => {
    if (key === 'id' && valueAt >= 0) id ??= text.slice(valueAt, at).trim()
    key = null
    valueAt = -1
  }
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at)
        if (depth === 1 && valueAt < 0) key = keyText(text.slice(at, end))
        at = end - 1
        break
      }
      case COLON:
        if (depth !== 1 || valueAt >= 0 || key === null) break
        valueAt = at + 1
        if (keys.has(key) || keys.size === MAX_KEYS) repeated ??= key
        keys.add(key)
        break
      case COMMA:
        if (depth === 1) endValue(at)
        break
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > deepest) deepest = depth
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (--depth === 0) endValue(at)
        break
    }
  }
  const deep = deepest > MAX_DEPTH
  const object = /^\s*\{/.test(text)
  return { object, id: object ? id : null, deep, fault: faultOf(deep, repeated, keys.size) }
}

function faultOf(deep: boolean, repeated: string | null, keys: number): string | null {
  if (deep) return `nested deeper than ${MAX_DEPTH} levels`
  if (repeated === null) return null
  return keys >= MAX_KEYS
    ? `more than ${MAX_KEYS} top-level fields`
    : `duplicate field \`${repeated.slice(0, MAX_KEYS)}\``
}

/** Index just after the string that opens at `at`, or the end of `text`. A quote after an odd run of backslashes is inside it. */
function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let first = quote
    while (text.charCodeAt(first - 1) === BACKSLASH) first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
  return text.length
}

/** The key that a quoted text stands for: `"\u0069d"` is `id` too. */
function keyText(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}
