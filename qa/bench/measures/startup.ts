import { spawnSync } from 'node:child_process'
import type { Measure, Stage } from '../stage.ts'
import { median } from '../stats.ts'
import type { Subject } from '../subject.ts'

/** How long until the first answer: what everyone waits for who starts a client. */
export const startup: Measure = {
  id: 'startup',
  title: '1. spawn -> initialize response',
  async run(stage, subject, out) {
    const home = stage.freshHome(subject)
    evict(subject.programFiles)
    out['fresh home, evicted binary ms'] = await once(stage, subject, home)
    out['fresh home ms'] = await once(stage, subject, stage.freshHome(subject, '-again'))
    const warm: number[] = []
    for (let i = 0; i < stage.size(5, 3); i += 1) warm.push(await once(stage, subject, home))
    out['warm home ms'] = median(warm)
  },
}

async function once(stage: Stage, subject: Subject, home: string): Promise<number> {
  const server = stage.instance(subject, home)
  await server.stdio().initialize()
  const ms = performance.now() - server.spawnedAt
  await server.stop()
  return ms
}

/** Asks the system to drop files from its page cache. Without effect where it cannot. */
function evict(files: readonly string[]): void {
  for (const file of files) spawnSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
}
