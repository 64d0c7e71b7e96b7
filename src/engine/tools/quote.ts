/** One command line for a person to read, words quoted where a shell would need it: `/bin/bash -lc 'echo hi'`. */
export function joinWords(words: readonly string[]): string {
  if (words.some(word => word.includes('\0'))) return '<command included NUL byte>'
  return words.map(quoteWord).join(' ')
}

/**
 * One word as a POSIX shell reads it back. Byte for byte what codex shows (the Rust crate shlex 1.3), so that command
 * lines look alike in every client: bare if possible, else in single quotes, else in double quotes, in as few runs as
 * possible.
 */
export function quoteWord(word: string): string {
  if (word === '') return "''"
  let quoted = ''
  for (let rest = word; rest !== ''; ) {
    const { length, style } = nextRun(rest)
    if (style === 'bare' && length === word.length) return word
    quoted += inStyle(rest.slice(0, length), style)
    rest = rest.slice(length)
  }
  return quoted
}

type Style = 'bare' | 'single' | 'double'

const BARE = /[-+./:@\]_0-9A-Za-z]/

const fits: Readonly<Record<Style, (c: string) => boolean>> = {
  bare: c => BARE.test(c),
  single: c => c !== "'" && c !== '^' && c !== '\\',
  double: c => c !== '`' && c !== '$' && c !== '!' && c !== '^',
}

/** The longest head of `text` that one style of quoting can carry, and that style. */
function nextRun(text: string): { readonly length: number; readonly style: Style } {
  const caret = text.startsWith('^')
  let styles: readonly Style[] = caret ? ['single'] : ['bare', 'single', 'double']
  let length = caret ? 1 : 0
  for (; length < text.length; length++) {
    const char = text[length]!
    if (styles.every(style => fits[style](char))) continue
    const left = styles.filter(style => fits[style](char))
    if (left.length === 0) break
    styles = left
  }
  return { length, style: styles[0]! }
}

function inStyle(text: string, style: Style): string {
  switch (style) {
    case 'bare':
      return text
    case 'single':
      return `'${text}'`
    case 'double':
      return `"${text.replace(/["\\]/g, '\\$&')}"`
    default:
      return style satisfies never
  }
}
