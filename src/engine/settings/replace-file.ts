import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readlink, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { EngineError } from '../errors.ts'
import { systemReason } from './bounded-file.ts'

/** Links followed before a chain counts as a loop (Linux's own limit). */
const MAX_LINKS = 40

/**
 * Puts `content` into `path` so that a reader, and a crash at any moment, sees the old or the new file, never a part.
 * A symlink stays one: its target is replaced. An existing file keeps its mode, a new one gets 0600, missing folders
 * 0700. `unchanged` is asked at the last moment: when it says no, nothing is replaced and the answer is false. Throws
 * `storage` with the system's reason; the old file is then untouched.
 */
export async function replaceFile(path: string, content: string, unchanged: () => boolean): Promise<boolean> {
  try {
    const target = await linkTarget(path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    const aside = await writeAside(target, content, await modeOf(target))
    if (!unchanged()) return await unlink(aside).then(() => false)
    await rename(aside, target).catch(error => removeAnd(aside, error))
    await syncFolder(dirname(target))
    return true
  } catch (error) {
    if (error instanceof EngineError) throw error
    throw new EngineError('storage', `cannot write ${path}: ${systemReason(error)}`)
  }
}

/** Writes the content beside its target, safely on disk; returns where. */
async function writeAside(target: string, content: string, mode: number): Promise<string> {
  const aside = join(dirname(target), `.config.toml.${randomBytes(8).toString('hex')}.tmp`)
  // O_EXCL: never through something that was put there.
  const file = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    await file.writeFile(content)
    if (mode !== 0o600) await file.chmod(mode)
    await file.sync()
  } catch (error) {
    await removeAnd(aside, error)
  } finally {
    await file.close()
  }
  return aside
}

async function removeAnd(path: string, error: unknown): Promise<never> {
  await unlink(path).catch(() => {})
  throw error
}

/** Where a chain of links ends, whether or not there is a file. */
async function linkTarget(path: string): Promise<string> {
  let here = path
  for (let link = 0; link < MAX_LINKS; link++) {
    const found = await lstat(here).catch(() => null)
    if (!found?.isSymbolicLink()) return here
    here = resolve(dirname(here), await readlink(here))
  }
  throw new EngineError('storage', `cannot write ${path}: Too many levels of symbolic links`)
}

async function modeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null)
  return found ? found.mode & 0o777 : 0o600
}

/** Makes the rename itself survive a power cut; folders that cannot be opened (Windows) do without. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY).catch(() => null)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
