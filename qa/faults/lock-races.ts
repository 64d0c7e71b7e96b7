import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { race } from '../../test/engine/store/lock-race.ts'

/** Races eight processes for one lock. `RACES` (default 10 000) and `SEED` change how often and in what order of kills. */
async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-races-'))
  const seed = Number(process.env.SEED ?? 1)
  try {
    const { races, takeovers, wrong } = await race(join(folder, 'log.jsonl'), Number(process.env.RACES ?? 10_000), {
      seed,
      kills: 0.05,
    })
    console.log(`${races} races, ${takeovers} owners killed, seed ${seed}: ${wrong.length} wrong`)
    for (const line of wrong) console.log(`  ${line}`)
    return wrong.length === 0 ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

void main().then(code => {
  process.exitCode = code
})
