import { EngineError } from './errors.ts'
import type { Input } from './items.ts'

/** Characters of text one turn may be given, as in codex. */
const MAX_INPUT = 1_048_576

/** Refuses input that is longer than a turn may have. */
export function checkLength(input: readonly Input[]): void {
  const texts = input.flatMap(part => (part.type === 'text' ? [part.text] : []))
  // A character beyond the basic plane is two units of a string: worth counting only near the limit.
  if (texts.reduce((n, text) => n + text.length, 0) <= MAX_INPUT) return
  const length = texts.reduce(
    (n, text) => n + text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0),
    0,
  )
  if (length <= MAX_INPUT) return
  throw new EngineError('inputTooLarge', `Input exceeds the maximum length of ${MAX_INPUT} characters.`, {
    input_error_code: 'input_too_large',
    max_chars: MAX_INPUT,
    actual_chars: length,
  })
}
