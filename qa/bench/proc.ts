import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** Clock ticks per second in /proc: 100 on every Linux we run on. */
export const TICKS = 100

const MIB = 1024

/** Memory (MiB) and handles of a process with all its descendants. */
export interface Usage {
  /** Shared pages counted in full for each process. */
  readonly rss: number
  /** Shared pages divided among all that map them. */
  readonly pss: number
  /** Private pages only: what this tree really adds to the machine. */
  readonly uss: number
  readonly threads: number
  readonly fds: number
}

/** A /proc file, or nothing when its process is gone. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

/** The process `root` and all its living descendants. */
export function tree(root: number): readonly number[] {
  const children = childrenByParent()
  const found: number[] = []
  const open = [root]
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    if (statOf(pid).length === 0) continue
    found.push(pid)
    open.push(...(children.get(pid) ?? []))
  }
  return found
}

/** What the tree below `root` uses right now. */
export function usageOf(root: number): Usage {
  const sum = { rss: 0, pss: 0, uss: 0, threads: 0, fds: 0 }
  for (const pid of tree(root)) {
    const memory = readProc(`${pid}/smaps_rollup`)
    sum.rss += field(memory, 'Rss') / MIB
    sum.pss += field(memory, 'Pss') / MIB
    sum.uss += (field(memory, 'Private_Clean') + field(memory, 'Private_Dirty')) / MIB
    sum.threads += field(readProc(`${pid}/status`), 'Threads')
    sum.fds += openFiles(pid)
  }
  return sum
}

/** CPU seconds of one process, with the children it has waited for. */
export function ownCpu(pid: number): number {
  return (
    statOf(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS
  )
}

/** CPU seconds of the tree below `root`, with the children its processes have waited for. */
export const cpuOf = (root: number): number => total(root, ownCpu)

/** Bytes that the tree has handed to `write` and its kin, sockets and files alike. */
export const bytesWritten = (root: number): number => total(root, pid => field(readProc(`${pid}/io`), 'wchar'))

/** How often the tree has called `write` and its kin. */
export const writesOf = (root: number): number => total(root, pid => field(readProc(`${pid}/io`), 'syscw'))

/** The highest RSS (MiB) each process of the tree ever had, or had since `forgetPeak`, summed up. */
export const peakRss = (root: number): number => total(root, pid => field(readProc(`${pid}/status`), 'VmHWM') / MIB)

/** Lets `peakRss` count from now on. */
export function forgetPeak(root: number): void {
  for (const pid of tree(root)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, '5')
    } catch {
      // The process is gone, or the kernel keeps the mark: then the peak is that of its whole life.
    }
  }
}

const total = (root: number, of: (pid: number) => number): number => tree(root).reduce((sum, pid) => sum + of(pid), 0)

const allProcesses = (): number[] =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>()
  for (const pid of allProcesses()) {
    const siblings = children.get(parentOf(pid))
    if (siblings) siblings.push(pid)
    else children.set(parentOf(pid), [pid])
  }
  return children
}

const parentOf = (pid: number): number => Number(statOf(pid)[1] ?? 0)

/** The fields of /proc/PID/stat behind the name, which may hold blanks and brackets itself: state, parent, ... */
function statOf(pid: number): readonly string[] {
  const text = readProc(`${pid}/stat`)
  return text === '' ? [] : text.slice(text.lastIndexOf(')') + 2).split(' ')
}

function openFiles(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

const field = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
