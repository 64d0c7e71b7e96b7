import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs'

/** What was found where a file was looked for. */
export type FoundFile =
  | { readonly type: 'file'; readonly bytes: Buffer; readonly truncated: boolean }
  | { readonly type: 'absent' }
  | { readonly type: 'unreadable'; readonly reason: string }

/**
 * Reads at most `limit` bytes of a regular file. Never waits: a FIFO, socket or device is `unreadable`, not opened
 * for reading. Never throws; a symlink loop and a path through a file are `unreadable` and `absent`.
 */
export function readBounded(path: string, limit: number): FoundFile {
  try {
    if (!statSync(path).isFile()) return { type: 'unreadable', reason: 'not a regular file' }
    // O_NONBLOCK: the path may have become a FIFO since.
    const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      return fstatSync(fd).isFile() ? readUpTo(fd, limit) : { type: 'unreadable', reason: 'not a regular file' }
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    return isAbsent(error) ? { type: 'absent' } : { type: 'unreadable', reason: systemReason(error) }
  }
}

/** Identity and state of a file, equal only while its content is the one last seen; `absent` when there is none. */
export function fileStamp(path: string): string {
  try {
    const s = statSync(path, { bigint: true })
    return `${s.dev}:${s.ino}:${s.size}:${s.mtimeNs}:${s.ctimeNs}`
  } catch (error) {
    return isAbsent(error) ? 'absent' : `unreadable: ${systemReason(error)}`
  }
}

/** An operating system's refusal in the words people know from codex: `No such file or directory (os error 2)`. */
export function systemReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException
  const words = code === undefined ? undefined : REASONS[code]
  return words === undefined ? (message ?? String(error)) : `${words} (os error ${Math.abs(errno ?? 0)})`
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  EPERM: 'Operation not permitted',
  EISDIR: 'Is a directory',
  ENOTDIR: 'Not a directory',
  ELOOP: 'Too many levels of symbolic links',
  ENOSPC: 'No space left on device',
  EROFS: 'Read-only file system',
  ENAMETOOLONG: 'File name too long',
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Files may grow or lie about their size (procfs), so the size is what was read. */
function readUpTo(fd: number, limit: number): FoundFile {
  const chunks: Buffer[] = []
  let total = 0
  while (total <= limit) {
    const chunk = Buffer.allocUnsafe(Math.min(65536, limit + 1 - total))
    const read = readSync(fd, chunk)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    total += read
  }
  return { type: 'file', bytes: Buffer.concat(chunks).subarray(0, limit), truncated: total > limit }
}
