import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { isObject } from '../../base/json.ts'
import { EngineError } from '../errors.ts'
import { codeOf, type Disk } from './disk.ts'
import type { Machine, ProcessName } from './machine.ts'

/** Attempts before a lock that changes hands all the time counts as somebody else's. */
const ATTEMPTS = 20

interface Owner extends ProcessName {
  /** Unlike any other taking of any lock. */
  readonly nonce: string
}

export interface LockAt {
  readonly disk: Disk
  readonly machine: Machine
  /** The log, without symbolic links, so that every alias of it means the same lock. */
  readonly path: string
  /** How a person knows the thread. */
  readonly id: string
}

/**
 * The right to append to one log: the file `<log>.lock` with our name in it. It appears whole (a link to a file that has
 * been written already), so whoever can read it knows whose it is.
 */
export class Lock {
  readonly #at: LockAt
  readonly #nonce: string
  #released = false

  private constructor(at: LockAt, nonce: string) {
    this.#at = at
    this.#nonce = nonce
  }

  /** Throws `lockedElsewhere` when a process that lives, or may live, has it. */
  static take(at: LockAt): Lock {
    const { disk, machine } = at
    const nonce = randomUUID()
    const lock = lockPath(at.path)
    const mine = `${lock}.${nonce}`
    disk.write(mine, Buffer.from(`${JSON.stringify({ ...machine.self, nonce })}\n`))
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (disk.link(mine, lock)) return new Lock(at, nonce)
        const held = readOwner(disk, lock)
        if (held === 'absent') continue
        if (isStale(machine, held) ? succeed(at, held, mine) : refuse(at, held)) return new Lock(at, nonce)
      }
      return refuse(at, readOwner(disk, lock))
    } finally {
      quietly(() => disk.unlink(mine))
    }
  }

  /** Whether it is still ours. Asked before everything that must last. */
  get held(): boolean {
    if (this.#released) return false
    const owner = readOwner(this.#at.disk, lockPath(this.#at.path))
    return owner !== 'absent' && owner.nonce === this.#nonce
  }

  /** Gives it back. One that is no longer ours is left alone. */
  release(): void {
    quietly(() => {
      if (this.held) this.#at.disk.unlink(lockPath(this.#at.path))
    })
    this.#released = true
  }
}

export const lockPath = (log: string): string => `${log}.lock`

/** What stands in a lock: its owner, or something that no process of ours wrote, known by what it says. */
type Held = Owner | { readonly nonce: string; readonly pid: null }

function readOwner(disk: Disk, path: string): Held | 'absent' {
  const bytes = readOrNull(disk, path)
  if (bytes === null) return 'absent'
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (isOwner(value)) return value
  } catch {}
  // A power cut may leave an empty lock. Its process is gone; its contents stand in for the nonce.
  return { nonce: `unreadable-${bytes.subarray(0, 64).toString('hex')}`, pid: null }
}

function isOwner(value: unknown): value is Owner {
  if (!isObject(value) || typeof value.pid !== 'number') return false
  return [value.nonce, value.boot, value.host, value.space].every(part => typeof part === 'string')
}

const isStale = (machine: Machine, held: Held): boolean => held.pid === null || machine.judge(held) === 'dead'

/**
 * Takes a lock over from a dead process. Only one process may ever succeed an owner: the one that makes
 * `<lock>.<its nonce>.next`. While that file stands nobody else replaces the lock, and it goes away only after the
 * lock has another owner, so somebody who read the old owner long ago finds out by reading again. A successor that died
 * half-way is succeeded in the same manner. False: look again from the start.
 */
function succeed(at: LockAt, stale: Held, mine: string): boolean {
  const { disk, machine } = at
  const lock = lockPath(at.path)
  let of = stale
  let claim = `${lock}.${of.nonce}.next`
  while (!disk.link(mine, claim)) {
    const next = readOwner(disk, claim)
    if (next === 'absent') return false
    if (!isStale(machine, next)) return refuse(at, next)
    of = next
    claim = `${lock}.${of.nonce}.next`
  }
  const now = readOwner(disk, lock)
  if (now === 'absent' || now.nonce !== stale.nonce) {
    disk.unlink(claim)
    return false
  }
  disk.rename(mine, lock)
  quietly(() => sweep(at, mine))
  return true
}

/** Removes what dead processes left of their attempts: it means nothing once the lock has a new owner. */
function sweep({ disk, machine, path }: LockAt, mine: string): void {
  const lock = lockPath(path)
  const own = /[^.]+$/.exec(mine)?.[0]
  for (const name of disk.list(dirname(lock))) {
    if (!name.startsWith(`${basename(lock)}.`)) continue
    const left = join(dirname(lock), name)
    const owner = readOwner(disk, left)
    // One that cannot be read yet is being written by somebody who lives.
    if (owner === 'absent' || owner.pid === null) continue
    if (owner.nonce === own || isStale(machine, owner)) disk.unlink(left)
  }
}

function refuse(at: LockAt, held: Held | 'absent'): never {
  const pid = held === 'absent' ? null : held.pid
  const who = pid === null ? 'another process' : `process ${pid}`
  const elsewhere = held !== 'absent' && held.pid !== null && at.machine.judge(held) === 'unknown'
  const hint = elsewhere ? ` of ${held.host}; if that one is gone, remove ${lockPath(at.path)}` : ''
  throw new EngineError('lockedElsewhere', `thread ${at.id} already has an active writer: ${who}${hint}`, { pid })
}

function readOrNull(disk: Disk, path: string): Buffer | null {
  try {
    return disk.read(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** For what is only tidying up: the lock is right without it. */
function quietly(tidy: () => void): void {
  try {
    tidy()
  } catch {}
}
