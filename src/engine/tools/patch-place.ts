import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path'

/** Where a path of a patch really leads, links followed. */
export interface Place {
  /** Absolute, as the patch names it. */
  readonly path: string
  /** The directory entry itself, in its real directory: what a deletion removes. */
  readonly entry: string
  /** The file that is read and written: other than `entry` where that is a symbolic link. */
  readonly target: string
  /** Whether the file has other names (hard links) that a change would leave behind. */
  readonly hardLinked: boolean
}

/** Finds out where an absolute path leads. Throws the system's error where nobody can tell. */
export function placeOf(path: string): Place {
  const entry = join(realFolder(dirname(path)), basename(path))
  const stats = statOf(entry)
  const target = stats?.isSymbolicLink() ? (realPath(entry) ?? entry) : entry
  const file = target === entry ? stats : statOf(target)
  return { path, entry, target, hardLinked: file?.isFile() === true && file.nlink > 1 }
}

/** The real path of a folder; of one that is to be made, the real path of what is there and the rest as written. */
function realFolder(folder: string): string {
  const real = realPath(folder)
  if (real !== null || folder === dirname(folder)) return real ?? folder
  return join(realFolder(dirname(folder)), basename(folder))
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

/** Names that nobody writes below without asking: they hold programs and settings that others run and trust. */
const PROTECTED = ['.git', '.skein', '.codex']

/**
 * Why a person must be asked before a patch changes this place, or null when it lies plainly inside the folders that may
 * be written. Reasons are for people.
 */
export function whyAsk(place: Place, roots: readonly string[]): string | null {
  const { path, entry, target, hardLinked } = place
  const real = roots.map(root => realPath(root) ?? root)
  if (![entry, target].every(file => real.some(root => isInside(file, root)))) {
    return target === path ? `writes outside the workspace: ${path}` : `${path} leads outside the workspace: ${target}`
  }
  const named = [...roots, ...real].some(root => [path, entry, target].some(file => isProtected(file, root)))
  if (named) return `writes to a protected folder: ${path}`
  return hardLinked ? `${path} is a hard link: the file has other names` : null
}

function isInside(file: string, root: string): boolean {
  const way = relative(root, file)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function isProtected(file: string, root: string): boolean {
  if (!isInside(file, root)) return false
  return relative(root, file)
    .split(sep)
    .some(name => PROTECTED.includes(plainName(name)))
}

/** A name as a forgiving file system takes it: any case, and without characters that nobody sees. */
function plainName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .toLowerCase()
}
