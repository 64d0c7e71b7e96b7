import { spawn } from 'node:child_process'

/** Bytes of output that are kept. */
const KEPT = 1 << 20
/** Output of this long goes out in one delta. */
const GATHER_MS = 5

/** Runs a command in a login shell, as codex does, and gives its output as it comes and at the end. */
export function runCommand(
  command: string,
  cwd: string,
  onOutput: (text: string) => void,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn('/bin/bash', ['-lc', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const kept: Buffer[] = []
  let size = 0
  let pending: Buffer[] = []
  const flush = (): void => {
    onOutput(Buffer.concat(pending).toString())
    pending = []
  }
  const take = (chunk: Buffer): void => {
    if (size < KEPT) kept.push(chunk)
    size += chunk.length
    if (pending.push(chunk) === 1) setTimeout(flush, GATHER_MS)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  return new Promise(resolve => {
    child.on('close', code => resolve({ code, text: Buffer.concat(kept).toString() }))
  })
}
