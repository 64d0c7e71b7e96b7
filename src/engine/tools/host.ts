import type { Processes } from './processes.ts'
import type { Shell } from './shell.ts'

/** What tools need of the machine; one for the whole server. */
export interface ToolHost {
  readonly processes: Processes
  readonly shell: Shell
  /** For files that tools make: the user's, where the server's own is stricter. */
  readonly umask: number
  /** Folder for temporary files, which a sandboxed thread may write (`TMPDIR`). */
  readonly tmpdir: string
}
