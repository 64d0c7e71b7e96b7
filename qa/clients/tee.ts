// A drop-in `codex` for clients that start their server themselves: it runs the server under test with whatever arguments it
// is given and writes every line that passes to a file of its own, so that a judge can look at the frames afterwards.
// usage: tee.ts FOLDER SERVER_JSON [ARGS...]
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const [folder = '.', server = '[]', ...args] = process.argv.slice(2)
const log = join(folder, `${process.pid}.jsonl`)
writeFileSync(log, `${JSON.stringify({ args })}\n`)

const [program = 'false', ...rest] = JSON.parse(server) as readonly string[]
const child = spawn(program, [...rest, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })

const note = (way: 'out' | 'in', text: string): void => appendFileSync(log, `${JSON.stringify({ way, text })}\n`)

const incoming = createInterface({ input: process.stdin })
incoming.on('line', text => {
  note('out', text)
  child.stdin.write(`${text}\n`)
})
incoming.on('close', () => child.stdin.end())
child.stdin.on('error', () => {})
createInterface({ input: child.stdout }).on('line', text => {
  note('in', text)
  process.stdout.write(`${text}\n`)
})
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', code => process.exit(code ?? 1))
child.on('error', () => process.exit(127))
