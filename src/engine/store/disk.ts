import * as fs from 'node:fs'

/** Every way in which the store touches the disk, small enough that a test can fail or cut each call. */
export interface Disk {
  /** Makes a directory and its parents, 0700; returns the folders that got a new entry and so need a `syncDir`. */
  mkdir(path: string): readonly string[]
  /** Opens for appending, creating the file 0600. Refuses a symbolic link as the last component. */
  append(path: string): Handle
  /** The bytes from `offset` (default 0) to the end. */
  read(path: string, offset?: number): Buffer
  /** Names in a directory; empty when it is not there. */
  list(path: string): readonly string[]
  /** Null when nothing is there. Follows symbolic links. */
  stat(path: string): Stat | null
  /** `path` without symbolic links. Throws when nothing is there. */
  realpath(path: string): string
  truncate(path: string, size: number): void
  /** Writes a whole new file 0600. */
  write(path: string, bytes: Buffer): void
  /** Replaces what is at `to`. */
  rename(from: string, to: string): void
  /** Gives a file a second name in one step; false when that name is taken. */
  link(from: string, to: string): boolean
  /** Removes a file; nothing happens when it is not there. */
  unlink(path: string): void
  /** Resolves when the directory's entries are on the medium. */
  syncDir(path: string): Promise<void>
}

export interface Stat {
  readonly size: number
  readonly mtimeMs: number
  readonly birthtimeMs: number
  readonly ino: number
  readonly links: number
  /** A regular file; reading anything else might never end. */
  readonly file: boolean
}

export interface Handle {
  /** The file's own number: tells whether its name still means this file. */
  readonly ino: number
  /** Writes in one call of the operating system and returns how many bytes it took: fewer when the disk gets full. */
  write(bytes: Buffer): number
  /** Resolves when what was written is on the medium. */
  datasync(): Promise<void>
  close(): void
}

const NOFOLLOW = fs.constants.O_NOFOLLOW ?? 0
const APPEND = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_WRONLY | NOFOLLOW

export const realDisk: Disk = {
  mkdir: path => made(path, fs.mkdirSync(path, { recursive: true, mode: 0o700 })),
  append: path => openHandle(fs.openSync(path, APPEND, 0o600)),
  read: (path, offset = 0) => (offset === 0 ? fs.readFileSync(path) : readFrom(path, offset)),
  list: path => quietly(() => fs.readdirSync(path), []),
  stat: path => quietly(() => toStat(fs.statSync(path)), null),
  realpath: path => fs.realpathSync(path),
  truncate: (path, size) => fs.truncateSync(path, size),
  write: (path, bytes) => fs.writeFileSync(path, bytes, { mode: 0o600 }),
  rename: (from, to) => fs.renameSync(from, to),
  link: linkOrCopy,
  unlink: path => quietly(() => fs.unlinkSync(path), undefined),
  syncDir,
}

function openHandle(fd: number): Handle {
  return {
    ino: fs.fstatSync(fd).ino,
    write: bytes => fs.writeSync(fd, bytes),
    datasync: () => new Promise((resolve, reject) => fs.fdatasync(fd, error => (error ? reject(error) : resolve()))),
    close: () => fs.closeSync(fd),
  }
}

/** The folders that hold a new entry after `mkdir` made `first` and everything below it down to `path`. */
function made(path: string, first: string | undefined): readonly string[] {
  if (first === undefined) return []
  const parent = (at: string): string => at.slice(0, Math.max(at.lastIndexOf('/'), at.lastIndexOf('\\'), 1))
  const out: string[] = []
  for (let at = path; at.length >= first.length && at !== parent(at); at = parent(at)) out.push(parent(at))
  return out
}

function readFrom(path: string, offset: number): Buffer {
  const fd = fs.openSync(path, fs.constants.O_RDONLY)
  try {
    const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(fd).size - offset))
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, offset))
  } finally {
    fs.closeSync(fd)
  }
}

const toStat = (stat: fs.Stats): Stat => ({
  size: stat.size,
  mtimeMs: stat.mtimeMs,
  birthtimeMs: stat.birthtimeMs,
  ino: stat.ino,
  links: stat.nlink,
  file: stat.isFile(),
})

/** Some file systems know no hard links: there the second name is a copy, made only if the name is free. */
function linkOrCopy(from: string, to: string): boolean {
  try {
    fs.linkSync(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error))) throw error
  }
  try {
    fs.copyFileSync(from, to, fs.constants.COPYFILE_EXCL)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** Windows cannot open a folder, and there a new entry is as safe as the file itself. */
function syncDir(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.open(path, fs.constants.O_RDONLY, (error, fd) => {
      if (error) return process.platform === 'win32' ? resolve() : reject(error)
      fs.fsync(fd, failed => {
        fs.closeSync(fd)
        if (failed && failed.code !== 'EINVAL') reject(failed)
        else resolve()
      })
    })
  })
}

/** The operating system's name for what went wrong; empty when it was something else. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

/** The value of `read`, or `otherwise` when nothing is there. Other failures are not ours to hide. */
function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return otherwise
    throw error
  }
}
