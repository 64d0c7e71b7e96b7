import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, named so that no later one can be taken for it: pids come round again, also after a restart. */
export interface ProcessName {
  readonly pid: number
  /** When it started, in the system's own words; null when nobody knows. */
  readonly start: string | null
  /** Id of the machine's run since it was switched on. */
  readonly boot: string
  readonly host: string
  /** The space its pid counts in (Linux: pid namespace), empty where there is only one. */
  readonly space: string
}

/** What the store needs to know of the processes of this machine. */
export interface Machine {
  readonly self: ProcessName
  /** `unknown`: it runs, or ran, where we cannot look. */
  judge(process: ProcessName): 'alive' | 'dead' | 'unknown'
}

let own: ProcessName | null = null

export const realMachine: Machine = {
  get self() {
    own ??= { pid: process.pid, start: startOf(process.pid), boot: bootId(), host: hostname(), space: pidSpace() }
    return own
  },
  judge(other) {
    const { self } = realMachine
    if (other.host !== self.host) return 'unknown'
    if (other.boot !== self.boot) return 'dead'
    if (other.space !== self.space) return 'unknown'
    const start = startOf(other.pid)
    if (start === null) return isGone(other.pid) ? 'dead' : 'unknown'
    return other.start === null || other.start === start ? 'alive' : 'dead'
  },
}

/** When a process started; null when it is gone, a zombie, or not to be asked. */
function startOf(pid: number): string | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null
  if (process.platform === 'linux') return linuxStart(pid)
  return text(() => execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { stdio: ['ignore', 'pipe', 'ignore'] }))
}

/** Field 22 of `/proc/<pid>/stat`: clock ticks since boot. The second field may hold anything, so count from its end. */
function linuxStart(pid: number): string | null {
  const stat = text(() => readFileSync(`/proc/${pid}/stat`))
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const dead = fields?.[0] === 'Z' || fields?.[0] === 'X'
  return (!dead && fields?.[19]) || null
}

/** Sure only of what the system denies: a process of another user exists all the same. */
function isGone(pid: number): boolean {
  if (process.platform === 'linux') return true
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

function bootId(): string {
  if (process.platform === 'linux') return text(() => readFileSync('/proc/sys/kernel/random/boot_id')) ?? ''
  return text(() => execFileSync('sysctl', ['-n', 'kern.boottime'], { stdio: ['ignore', 'pipe', 'ignore'] })) ?? ''
}

const pidSpace = (): string => text(() => Buffer.from(readlinkSync('/proc/self/ns/pid'))) ?? ''

function text(read: () => Buffer): string | null {
  try {
    return read().toString('utf8').trim() || null
  } catch {
    return null
  }
}
