import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openBackend } from './kit/backend.ts'
import type { StartInProcess } from './kit/in-process.ts'
import { loadInProcess } from './kit/in-process.ts'
import { wanted } from './kit/options.ts'
import { runAlone, type Session } from './kit/session.ts'
import { play } from './replay/play.ts'
import type { Theatre } from './replay/stage.ts'
import { readStory, type Story } from './replay/story.ts'

const FOLDER = join(import.meta.dirname, 'transcripts')

/** The module that can start Skein in this process; another server under test has none. */
const IN_PROCESS = join(import.meta.dirname, '../src/cli/in-process.ts')

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
      const inProcess = await inProcessServer(session)
      const { server: command, ignore } = options
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

/** Without it every story over memory fails and says why. */
async function inProcessServer({ options, verdicts }: Session): Promise<StartInProcess | null> {
  if (options.without.includes('memory')) return null
  try {
    return await loadInProcess(pathToFileURL(IN_PROCESS).href)
  } catch (error) {
    verdicts.note(`no in-process server: ${error instanceof Error ? error.message : String(error)}`)
    return null
  }
}

if (import.meta.filename === process.argv[1]) await runAlone(replay)
