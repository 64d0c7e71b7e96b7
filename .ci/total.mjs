// Adds up what the tests (TAP) and the judges (verdict lines) counted. Exits 1 when something failed or nothing ran.
import { readFileSync } from 'node:fs'

const [tests, qa] = process.argv.slice(2).map(path => readFileSync(path, 'utf8'))
const count = (text, pattern) => [...text.matchAll(pattern)].reduce((n, match) => n + Number(match[1] ?? 1), 0)
const passed = count(tests, /^# +pass:? +(\d+)/gm) + count(qa, /^(\d+) passed, \d+ failed/gm)
const failed = count(tests, /^# +fail:? +(\d+)/gm) + count(qa, /^\d+ passed, (\d+) failed/gm)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed > 0 || passed === 0 ? 1 : 0)
