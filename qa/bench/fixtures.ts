import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { v7 } from 'uuid'
import { sleep } from '../kit/child.ts'
import { copyOf, type LongSize, MARK, repeatLastTurn } from './copy-log.ts'
import type { Stage } from './stage.ts'
import type { Subject } from './subject.ts'

/** A home with one long thread. */
export interface LongThread {
  readonly home: string
  readonly id: string
  readonly bytes: number
}

const READY = '.bench-ready'
const WORDS = 'hello there world'
const TEN_MINUTES = 600_000
const DAY = 86_400_000

/** The logs of a home, oldest first. */
export function logsOf(home: string): readonly string[] {
  const root = join(home, 'sessions')
  if (!existsSync(root)) return []
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const logs = names.filter(name => /rollout-.*\.jsonl$/.test(name))
  return logs.sort().map(name => join(root, name))
}

/** Removes what the server has derived from the logs. */
export function dropIndex(subject: Subject, home: string): void {
  for (const folder of [home, join(home, 'sessions')]) {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (subject.index.test(name)) rmSync(join(folder, name), { recursive: true })
    }
  }
}

/** A home with that many saved threads: one real log, copied with other ids and times. Kept for later runs. */
export async function savedThreads(stage: Stage, subject: Subject, count: number): Promise<string> {
  const home = join(stage.paths.fixtures, `${subject.name}-threads-${count}`)
  if (existsSync(join(home, READY))) return home
  const id = await seed(stage, subject, { home, texts: [`say:${WORDS}`] })
  const log = firstLog(home)
  const text = readFileSync(log, 'utf8')
  rmSync(log)
  dropIndex(subject, home)
  for (let i = 0; i < count; i += 1) writeCopy(home, { text, old: id, i })
  writeFileSync(join(home, READY), '')
  return home
}

/** Writes the copy number `i`: each is ten minutes older than the one before. */
function writeCopy(home: string, { text, old, i }: { text: string; old: string; i: number }): void {
  const at = Date.now() - DAY - i * TEN_MINUTES
  const id = v7({ msecs: at })
  const time = new Date(at).toISOString()
  const folder = join(home, 'sessions', time.slice(0, 4), time.slice(5, 7), time.slice(8, 10))
  const file = join(folder, `rollout-${time.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, copyOf(text, { old, id, at }).replaceAll(WORDS, `${WORDS} ${i}`))
  utimesSync(file, at / 1000, at / 1000)
}

/** A home with one thread of that size. Kept for later runs; work on a copy. */
export async function longThread(stage: Stage, subject: Subject, size: LongSize): Promise<LongThread> {
  const home = join(stage.paths.fixtures, `${subject.name}-long-${size.turns}x${size.text}`)
  const ready = join(home, READY)
  if (existsSync(ready)) return JSON.parse(readFileSync(ready, 'utf8')) as LongThread
  const id = await seed(stage, subject, { home, texts: ['say:first', `say:${MARK}`] })
  dropIndex(subject, home)
  const log = firstLog(home)
  if (subject.log) repeatLastTurn(log, subject.log, { ...size, id })
  const made = { home, id, bytes: statSync(log).size }
  writeFileSync(ready, JSON.stringify(made))
  return made
}

/** A copy of a fixture that may be written to, with the configuration of this run. */
export function copyHome(stage: Stage, subject: Subject, from: string): string {
  const home = join(stage.paths.homes, `${subject.name}-copy-of-${basename(from)}`)
  rmSync(home, { recursive: true, force: true })
  cpSync(from, home, { recursive: true })
  return stage.configure(subject, home)
}

/** Lets the server itself make one small thread; gives its id. */
async function seed(
  stage: Stage,
  subject: Subject,
  { home, texts }: { readonly home: string; readonly texts: readonly string[] },
): Promise<string> {
  const server = stage.instance(subject, stage.makeHome(subject, home))
  const client = server.stdio()
  await client.initialize()
  const id = await client.startThread(stage.paths.work)
  for (const text of texts) await client.turn(id, text)
  await sleep(300)
  await server.stop()
  return id
}

function firstLog(home: string): string {
  const [log] = logsOf(home)
  if (log === undefined) throw new Error(`no log in ${home}`)
  return log
}
