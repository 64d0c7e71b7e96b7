import * as fs from 'node:fs'

/** Every way in which the store touches the disk, small enough that a test can fail or cut each call. */
export interface Disk {
  /** Makes a directory and its parents, 0700. */
  mkdir(path: string): void
  /** Opens for appending, creating the file 0600. Refuses a symbolic link as the last component. */
  append(path: string): Handle
  read(path: string): Buffer
  /** Names in a directory; empty when it is not there. */
  list(path: string): readonly string[]
  /** Null when nothing is there. */
  stat(path: string): Stat | null
  truncate(path: string, size: number): void
  /** Writes a whole new file 0600. */
  write(path: string, bytes: Buffer): void
}

export interface Stat {
  readonly size: number
  readonly mtimeMs: number
  readonly birthtimeMs: number
}

export interface Handle {
  /** Writes all of `bytes` in one call of the operating system, or throws. */
  write(bytes: Buffer): void
  /** Resolves when what was written is on the medium. */
  datasync(): Promise<void>
  close(): void
}

const APPEND = fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_WRONLY | (fs.constants.O_NOFOLLOW ?? 0)

export const realDisk: Disk = {
  mkdir: path => void fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
  append: path => openHandle(fs.openSync(path, APPEND, 0o600)),
  read: path => fs.readFileSync(path),
  list: path => quietly(() => fs.readdirSync(path), []),
  stat: path => quietly(() => fs.statSync(path), null),
  truncate: (path, size) => fs.truncateSync(path, size),
  write: (path, bytes) => fs.writeFileSync(path, bytes, { mode: 0o600 }),
}

function openHandle(fd: number): Handle {
  return {
    write(bytes) {
      const written = fs.writeSync(fd, bytes)
      if (written !== bytes.length) throw new Error(`short write: ${written} of ${bytes.length} bytes`)
    },
    datasync: () => new Promise((resolve, reject) => fs.fdatasync(fd, error => (error ? reject(error) : resolve()))),
    close: () => fs.closeSync(fd),
  }
}

/** The value of `read`, or `otherwise` when nothing is there. Other failures are not ours to hide. */
function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return otherwise
    throw error
  }
}
