import { join } from 'node:path'
import type { Disk } from './disk.ts'
import { isLog } from './log-name.ts'

/** Every log below a sessions folder, in folders by year, month and day. */
export function* savedLogs(disk: Disk, root: string): Generator<string> {
  const numbers = (path: string): string[] => disk.list(path).filter(name => /^\d+$/.test(name))
  for (const year of numbers(root)) {
    for (const month of numbers(join(root, year))) {
      for (const day of numbers(join(root, year, month))) {
        const dir = join(root, year, month, day)
        for (const name of disk.list(dir)) if (isLog(name)) yield `${dir}/${name}`
      }
    }
  }
}

/** Every log that has been put away. */
export function* archivedLogs(disk: Disk, archive: string): Generator<string> {
  for (const name of disk.list(archive)) if (isLog(name)) yield `${archive}/${name}`
}
