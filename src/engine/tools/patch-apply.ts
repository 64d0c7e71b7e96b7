import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  type Stats,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { newId } from '../../base/ids.ts'
import { osErrorText } from './os-error.ts'
import type { PlannedFile } from './patch-plan.ts'

/**
 * Writes what a plan says, all of it or nothing: new contents are first written beside the files and then take their
 * place. Returns null, or why it failed; then everything is as it was, unless the system refuses even that.
 * Nothing is written through a link that appeared after the plan was made.
 */
export function applyPlan(files: readonly PlannedFile[], umask: number): string | null {
  const folders = new Folders(umask)
  const undo: (() => void)[] = []
  let at = ''
  try {
    const staged: Staged[] = []
    for (const planned of files) {
      if (planned.after === null) continue
      at = `Failed to write file ${planned.place.path}`
      const file = stage(folders, planned, planned.after, umask)
      undo.push(() => file.discard())
      staged.push(file)
    }
    for (const file of staged) {
      at = `Failed to write file ${file.path}`
      file.commit()
      undo.push(() => file.restore())
    }
    for (const planned of files.filter(file => file.after === null)) {
      at = `Failed to delete file ${planned.place.path}`
      undo.push(remove(folders, planned))
    }
    return null
  } catch (error) {
    for (const step of undo.reverse()) quietly(step)
    folders.unmake()
    return `${at}: ${osErrorText(error)}`
  } finally {
    folders.close()
  }
}

interface Staged {
  readonly path: string
  commit(): void
  /** Puts back what was there before `commit`. */
  restore(): void
  /** Takes the unused new content away. */
  discard(): void
}

function stage(folders: Folders, planned: PlannedFile, content: Buffer, umask: number): Staged {
  const { file, before, stats } = planned
  const folder = folders.open(dirname(file))
  const name = `${folder}/${basename(file)}`
  const temporary = writeBeside(folder, content, stats, umask)
  return {
    path: planned.place.path,
    commit: () => renameSync(temporary, name),
    restore: () => {
      if (before === null) unlinkSync(name)
      else renameSync(writeBeside(folder, before, stats, umask), name)
    },
    discard: () => unlinkSync(temporary),
  }
}

/** Removes an entry and gives back what restores it. */
function remove(folders: Folders, { file, before, stats }: PlannedFile): () => void {
  const folder = folders.open(dirname(file))
  const name = `${folder}/${basename(file)}`
  const link = linkText(name)
  unlinkSync(name)
  return () => {
    if (link !== null) symlinkSync(link, name)
    else if (before !== null) renameSync(writeBeside(folder, before, stats, 0), name)
  }
}

function linkText(name: string): string | null {
  try {
    return readlinkSync(name)
  } catch {
    return null
  }
}

/** Writes a new file with a name of its own, with the mode and owner of the one whose place it will take. */
function writeBeside(folder: string, content: Buffer, stats: Stats | null, umask: number): string {
  const path = `${folder}/.skein-${newId()}.tmp`
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const fd = openSync(path, flags, 0o600)
  try {
    writeFileSync(fd, content)
    if (stats) quietly(() => fchownSync(fd, stats.uid, stats.gid))
    fchmodSync(fd, stats ? stats.mode & 0o7777 : 0o666 & ~umask)
  } catch (error) {
    quietly(() => unlinkSync(path))
    throw error
  } finally {
    closeSync(fd)
  }
  return path
}

function quietly(step: () => void): void {
  try {
    step()
  } catch {
    // What cannot be undone or taken over stays; the first failure is the one that is told.
  }
}

/**
 * Folders held open while a patch is written. On Linux every file is named through its open folder, so that a folder that is
 * swapped for a link meanwhile changes nothing; elsewhere the folder's path is checked once more.
 */
class Folders {
  readonly #open = new Map<string, { readonly name: string; readonly fd: number }>()
  readonly #made: string[] = []
  readonly #umask: number

  constructor(umask: number) {
    this.#umask = umask
  }

  /** A name to reach the folder by; makes it, and those above it, where it is missing. */
  open(path: string): string {
    const known = this.#open.get(path)
    if (known) return known.name
    const fd = this.#openOrMake(path)
    const name = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
    this.#open.set(path, { name, fd })
    if (realNow(name) !== path) throw new Error('its folder was moved')
    return name
  }

  #openOrMake(path: string): number {
    try {
      return openFolder(path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path === dirname(path)) throw error
    }
    const name = `${this.open(dirname(path))}/${basename(path)}`
    mkdirSync(name, 0o777)
    this.#made.push(name)
    const fd = openFolder(name)
    fchmodSync(fd, 0o777 & ~this.#umask)
    return fd
  }

  /** Takes away the folders that were made, where they are still empty. */
  unmake(): void {
    for (const name of this.#made.reverse()) quietly(() => rmdirSync(name))
  }

  close(): void {
    for (const { fd } of this.#open.values()) closeSync(fd)
  }
}

const openFolder = (path: string): number =>
  openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)

const realNow = (name: string): string => (process.platform === 'linux' ? readlinkSync(name) : realpathSync(name))
