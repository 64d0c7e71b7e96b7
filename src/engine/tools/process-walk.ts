import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'

/** The environment variable by which every process of a command can be found, wherever it fled to. */
export const MARK = 'SKEIN_TASK'

/** One living process, told from a later one with the same id by when it started. */
export interface Proc {
  readonly pid: number
  /** Clock ticks from the boot to its start: field 22 of `/proc/<pid>/stat`. */
  readonly start: string
  readonly group: number
}

interface Stat extends Proc {
  readonly parent: number
  readonly session: number
  readonly zombie: boolean
}

/** Which processes belong to a command: its group, its session, what bears its mark, and the children of all these. */
export interface Belonging {
  /** Process group and session of the command; null when only marks count. */
  readonly group: number | null
  /** Tells a mark of ours from others. */
  readonly mark: (mark: string) => boolean
}

/**
 * Everybody who belongs, read from /proc. Empty where there is none (macOS, Windows). Takes some milliseconds on a
 * machine with many processes, without blocking.
 */
export async function findProcesses(belonging: Belonging): Promise<readonly Proc[]> {
  const stats = await allStats()
  const mine = new Map<number, Stat>()
  await Promise.all(
    stats.map(async stat => {
      const inGroup = belonging.group !== null && [stat.group, stat.session].includes(belonging.group)
      if (inGroup || (await hasMark(stat.pid, belonging.mark))) mine.set(stat.pid, stat)
    }),
  )
  addChildren(stats, mine)
  mine.delete(process.pid)
  return [...mine.values()].filter(stat => !stat.zombie)
}

/** A child that cleared its environment and left the session still has a parent. */
function addChildren(stats: readonly Stat[], mine: Map<number, Stat>): void {
  for (let size = -1; size !== mine.size; ) {
    size = mine.size
    for (const stat of stats) if (mine.has(stat.parent)) mine.set(stat.pid, stat)
  }
}

async function allStats(): Promise<readonly Stat[]> {
  let names: readonly string[]
  try {
    names = await readdir('/proc')
  } catch {
    return []
  }
  const stats = await Promise.all(names.filter(name => /^\d+$/.test(name)).map(readStat))
  return stats.filter(stat => stat !== null)
}

async function readStat(pid: string): Promise<Stat | null> {
  try {
    return parseStat(await readFile(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/** The name (field 2) may hold blanks and parentheses: the fields are counted from its last one. */
function parseStat(text: string): Stat | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group, session] = fields
  const start = fields[19]
  if (!parent || !group || !session || !start) return null
  return {
    pid: Number.parseInt(text, 10),
    start,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    zombie: state === 'Z' || state === 'X',
  }
}

async function hasMark(pid: number, isOurs: (mark: string) => boolean): Promise<boolean> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1')
    const mark = environment.split('\0').find(entry => entry.startsWith(`${MARK}=`))
    return mark !== undefined && isOurs(mark.slice(MARK.length + 1))
  } catch {
    return false
  }
}

/** When the process with this id started, or null when there is none (or nobody can tell). */
export function startOf(pid: number): string | null {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'))
    return stat && !stat.zombie ? stat.start : null
  } catch {
    return null
  }
}

/** Whether it is still that process. */
export const isAlive = (proc: Pick<Proc, 'pid' | 'start'>): boolean => startOf(proc.pid) === proc.start

/** Sends a signal; gone already, or not ours to signal, is fine. A negative id means a process group. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
