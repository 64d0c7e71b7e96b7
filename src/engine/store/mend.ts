import type { Clock } from '../../base/clock.ts'
import type { Disk } from './disk.ts'
import { parseRecord } from './read-log.ts'

const LF = 10

/** Bytes at the end of a log in which its last line feed is looked for first. */
const LOOK_BACK = 1024 * 1024

/**
 * Makes a log of `size` bytes that may have been cut in mid-write safe to append to, and returns its length: a whole record
 * without its line feed gets one, any other tail (NUL bytes too) is moved to `<path>.torn-<time>` beside it.
 */
export function mendTail(
  disk: Disk,
  at: { readonly path: string; readonly size: number; readonly now: Clock },
): number {
  const { path, size, now } = at
  const { tail, whole } = tailOf(disk, path, Math.max(0, size - LOOK_BACK))
  if (tail.length === 0) return whole
  if (parseRecord(tail.toString('utf8'))) return endLine(disk, path, whole + tail.length)
  disk.write(`${path}.torn-${now()}`, tail)
  disk.truncate(path, whole)
  return whole
}

/** What follows the last line feed, and where that stands. */
function tailOf(disk: Disk, path: string, from: number): { readonly tail: Buffer; readonly whole: number } {
  const bytes = disk.read(path, from)
  const end = bytes.lastIndexOf(LF) + 1
  if (end === 0 && from > 0) return tailOf(disk, path, 0)
  return { tail: bytes.subarray(end), whole: from + end }
}

function endLine(disk: Disk, path: string, length: number): number {
  const handle = disk.append(path)
  try {
    if (handle.write(Buffer.from('\n')) !== 1) throw new Error('the disk took nothing')
  } finally {
    handle.close()
  }
  return length + 1
}
