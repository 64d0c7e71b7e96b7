import { stringify } from 'smol-toml'
import type { Json, JsonObject } from '../../base/json.ts'
import { parseToml, TomlFaulty } from './toml.ts'
import { isTable, type KeyPath, nested, sameValue, valueAt, without, withValue } from './tree.ts'

/** One change of a configuration text; undefined deletes. */
export interface TomlEdit {
  readonly path: KeyPath
  readonly value: Json | undefined
}

/**
 * `text` with one value set or deleted and every other byte kept where that can be done. The result always parses to
 * exactly what was asked for; null when no way of writing it does.
 */
export async function editToml(text: string, edit: TomlEdit): Promise<string | null> {
  const before = parseToml(text)
  if (before instanceof TomlFaulty) return null
  const wanted = edited(before, edit)
  if (wanted === null || sameValue(before, wanted)) return wanted && text
  for (const write of [appendedTable, patchedInPlace]) {
    const after = await write(text, before, edit)
    if (after !== null && parsesTo(after, wanted)) return after
  }
  return null
}

function edited(table: JsonObject, { path, value }: TomlEdit): JsonObject | null {
  return value === undefined ? without(table, path) : (withValue(table, path, value) ?? null)
}

/** A table of its own at the end of the file, for what has no table yet: how a person would write it. */
function appendedTable(text: string, table: JsonObject, { path, value }: TomlEdit): string | null {
  const whole = isTable(value) || isTableList(value)
  const home = whole ? path : path.slice(0, -1)
  if (value === undefined || home.length === 0 || valueAt(table, home) !== undefined) return null
  const newLine = text.includes('\r\n') ? '\r\n' : '\n'
  const block = stringify(nested(path, value) as Record<string, unknown>)
    .trimEnd()
    .replaceAll('\n', newLine)
  const kept = text.trimEnd()
  return `${kept}${kept === '' ? '' : newLine + newLine}${block}${newLine}`
}

const isTableList = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(isTable)

async function patchedInPlace(text: string, _table: JsonObject, { path, value }: TomlEdit): Promise<string | null> {
  // Loaded on the first write: most servers never write their configuration.
  const toml = await import('@decimalturn/toml-patch')
  try {
    const document = toml.parse(text, { integersAsBigInt: 'asNeeded' })
    setIn(document, path, value)
    const after = toml.patch(text, document)
    // The library leaves what it adds to an empty file without a last newline.
    return text === '' && !after.endsWith('\n') ? `${after}\n` : after
  } catch {
    return null
  }
}

/** Changes a document of the patching library, whose dates and big integers must stay the objects they are. */
function setIn(document: Record<string, unknown>, path: KeyPath, value: Json | undefined): void {
  let here = document
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(here, key)) here[key] = {}
    here = here[key] as Record<string, unknown>
  }
  const last = path.at(-1)!
  if (value === undefined) delete here[last]
  else here[last] = value
}

function parsesTo(text: string, wanted: JsonObject): boolean {
  const table = parseToml(text)
  return !(table instanceof TomlFaulty) && sameValue(table, wanted)
}
