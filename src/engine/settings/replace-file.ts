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
 * 0700. Throws `storage` with the system's reason; the old file is then untouched.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  try {
    const target = await linkTarget(path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await writeAside(target, content, await modeOf(target))
    await syncFolder(dirname(target))
  } catch (error) {
    if (error instanceof EngineError) throw error
    throw new EngineError('storage', `cannot write ${path}: ${systemReason(error)}`)
  }
}

async function writeAside(target: string, content: string, mode: number): Promise<void> {
  const aside = join(dirname(target), `.config.toml.${randomBytes(8).toString('hex')}.tmp`)
  // O_EXCL: never through something that was put there.
  const file = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    try {
      await file.writeFile(content)
      if (mode !== 0o600) await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(aside, target)
  } catch (error) {
    await unlink(aside).catch(() => {})
    throw error
  }
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
