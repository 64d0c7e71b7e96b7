import { randomBytes } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmodSync, linkSync, lstatSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import type { Channel } from '../rpc/channel.ts'
import { Gate } from './gate.ts'
import type { Listener, ListenOptions } from './listen.ts'

/** What fits the kernel's address structure on Linux; macOS has room for 103. */
const MAX_PATH = process.platform === 'darwin' ? 103 : 107

/** A server that takes longer to accept is taken to be alive. */
const PROBE_MS = 1000

/**
 * WebSockets on a unix socket, for this user only: the socket is 0600 in a directory that is 0700. Takes over a socket whose
 * server has died; never touches one that answers, or anything that is not a socket.
 */
export async function listenUnix(
  path: string,
  { after, report }: ListenOptions,
  onChannel: (channel: Channel) => void,
): Promise<Listener> {
  const draft = join(dirname(path), `.${randomBytes(3).toString('hex')}`)
  if (Math.max(Buffer.byteLength(path), Buffer.byteLength(draft)) > MAX_PATH) {
    throw new Error(`the socket path ${path} is longer than ${MAX_PATH} bytes`)
  }
  privateDirectory(dirname(path))
  // Whoever can open the socket is this user, so neither a Host nor a token tells more; a browser never gets here but is refused.
  const gate = new Gate({ transport: 'unix', host: () => true, authorize: () => null, onChannel, after, report })
  await claim(path) // before anything is bound, for the sake of its message
  await gate.listen({ path: draft })
  try {
    chmodSync(draft, 0o600)
    await publish(draft, path)
  } catch (error) {
    gate.close()
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const ours = lstatSync(path, { bigint: true })
  const close = (): void => {
    gate.close()
    if (sameFile(statOf(path), ours)) rmSync(path, { force: true })
  }
  return { url: `unix://${path}`, tokenFile: null, drain: () => gate.drain(), close }
}

function privateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const stats = statSync(path)
  if (!process.getuid) return
  if (stats.uid !== process.getuid()) throw new Error(`the socket directory ${path} belongs to another user`)
  if (stats.mode & 0o077) throw new Error(`the socket directory ${path} is open to others: run chmod 700 on it`)
}

/**
 * Gives the bound socket its name. It is bound under another one and linked, because node unlinks the name it was bound to
 * when it closes, whoever owns it by then; and because a link, unlike a rename, never replaces anything.
 */
async function publish(draft: string, path: string): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      return linkSync(draft, path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      await claim(path)
    }
  }
  throw new Error(`another server is taking the socket ${path}`)
}

/** Makes the name free, if that does nobody harm. Throws if a server answers there, or something else is in the way. */
async function claim(path: string): Promise<void> {
  const found = statOf(path)
  if (!found) return
  if (!found.isSocket()) throw new Error(`${path} is in the way and is not a socket`)
  if (await answers(path)) throw new Error(`another server is listening on unix://${path}`)
  // Between the probe and now another starter may have put a live socket here: moved aside, it can be told and put back.
  const aside = `${path}.${randomBytes(6).toString('hex')}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if (!sameFile(statOf(aside), found)) linkSync(aside, path)
  rmSync(aside, { force: true })
}

function statOf(path: string): BigIntStats | undefined {
  return lstatSync(path, { bigint: true, throwIfNoEntry: false })
}

/** Inode numbers are used again at once, so the time of the last write is compared too; renaming leaves it as it is. */
function sameFile(a: BigIntStats | undefined, b: BigIntStats): boolean {
  return a !== undefined && a.dev === b.dev && a.ino === b.ino && a.mtimeNs === b.mtimeNs
}

/** Whether somebody accepts connections there. Only a plain refusal is a no. */
function answers(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ path, timeout: PROBE_MS })
    const settle = (alive: boolean): void => {
      socket.destroy()
      resolve(alive)
    }
    socket.on('connect', () => settle(true))
    socket.on('timeout', () => settle(true))
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}
