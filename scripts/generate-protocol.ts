/**
 * Writes the generated files of `src/protocol/codex/` from the vendored pins:
 *
 *     npx tsx scripts/generate-protocol.ts            write
 *     npx tsx scripts/generate-protocol.ts --check    write nothing; fail and list the files that would change
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { generateProtocol } from './codex/generate.ts'

const FOLDER = new URL('../src/protocol/codex/', import.meta.url)

function current(file: string): string | null {
  try {
    return readFileSync(new URL(file, FOLDER), 'utf8')
  } catch {
    return null
  }
}

const stale = [...generateProtocol()].filter(([file, text]) => current(file) !== text)
if (process.argv.includes('--check')) {
  for (const [file] of stale)
    console.error(`src/protocol/codex/${file} is not what the pins give; run generate-protocol`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  for (const [file, text] of stale) writeFileSync(new URL(file, FOLDER), text)
}
