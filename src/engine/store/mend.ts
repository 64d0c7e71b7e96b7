import type { Clock } from '../../base/clock.ts'
import type { Disk } from './disk.ts'
import { parseRecord } from './read-log.ts'

const LF = 10

/**
 * Makes a log that may have been cut in mid-write safe to append to, and returns its length: a whole record without its
 * line feed gets one, any other tail (NUL bytes too) is moved to `<path>.torn-<time>` beside it.
 */
export function mendTail(disk: Disk, path: string, now: Clock): number {
  const bytes = disk.read(path)
  const whole = bytes.lastIndexOf(LF) + 1
  if (whole === bytes.length) return whole
  const tail = bytes.subarray(whole)
  if (parseRecord(tail.toString('utf8'))) return endLine(disk, path, bytes.length)
  disk.write(`${path}.torn-${now()}`, tail)
  disk.truncate(path, whole)
  return whole
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
