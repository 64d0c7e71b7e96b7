import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openBackend } from './kit/backend.ts'
import { startInProcess } from './kit/in-process.ts'
import { wanted } from './kit/options.ts'
import { isCodex } from './kit/server.ts'
import { runAlone, type Session } from './kit/session.ts'
import { play } from './replay/play.ts'
import type { Theatre } from './replay/stage.ts'
import { readStory, type Story } from './replay/story.ts'

const FOLDER = join(import.meta.dirname, 'transcripts')

/** Every story of `qa/transcripts`, in order of their names. */
export function readStories(folder = FOLDER): readonly Story[] {
  const files = readdirSync(folder).filter(file => file.endsWith('.txt'))
  return files.sort().map(file => readStory(file.slice(0, -4), readFileSync(join(folder, file), 'utf8')))
}

/** Plays the stories on every transport they are for: one verdict a story and transport. */
export async function replay(session: Session): Promise<void> {
  const { options, verdicts, root, witness } = session
  for (const kind of options.models) {
    const backend = await openBackend(kind)
    try {
      const { server: command, ignore } = options
      const inProcess = isCodex(options.server) ? null : startInProcess
      const theatre: Theatre = { root, command, ignore, backend, inProcess, witness }
      for (const story of readStories()) {
        if (!wanted(story.name, options.only)) continue
        for (const transport of story.setup.transports) {
          if (options.without.includes(transport)) continue
          const model = kind === 'offline' ? '' : ` with ${kind}`
          await verdicts.check(`replay ${story.name} over ${transport}${model}`, () => play(story, transport, theatre))
        }
      }
    } finally {
      backend.close()
    }
  }
  for (const transport of options.without) verdicts.note(`left out: ${transport}`)
}

if (import.meta.filename === process.argv[1]) await runAlone(replay)
