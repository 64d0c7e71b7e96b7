import type { Grants } from './tool.ts'

/** The key of one exact command line in one folder, in `Grants.exact`. */
export const commandKey = (cwd: string, command: string): string => `command ${JSON.stringify([cwd, command])}`

/** The key of one file, by where it really is: a link that is put in its place later is another file. */
export const fileKey = (file: string): string => `file ${JSON.stringify(file)}`

/** Whether all of these were allowed for the thread. */
export const hasAll = (grants: Grants, keys: readonly string[]): boolean =>
  keys.length > 0 && keys.every(key => grants.exact.has(key))
