import type { Paths } from './stage.ts'

/** A server under test: how it is started and where it keeps what. */
export interface Subject {
  readonly name: string
  /** The command that serves on standard streams. */
  readonly argv: readonly string[]
  /** Arguments after the command to listen on a port instead. */
  listen(port: number): readonly string[]
  /** The variable that names its home. */
  readonly homeVariable: string
  readonly env: (paths: Paths) => Readonly<Record<string, string>>
  /** Files of a fresh home, by name. */
  readonly files: (paths: Paths) => Readonly<Record<string, string>>
  /** How its saved threads can be multiplied on disk; null when it cannot read such a copy. */
  readonly log: LogShape | null
  /** Names in its home of what it derives from the logs and makes again when it is missing. */
  readonly index: RegExp
  /** Program files to drop from the page cache for the cold start. */
  readonly programFiles: readonly string[]
  /** Measures it does not take part in. */
  readonly skip: readonly string[]
}

/** What one must know of a thread's log to write another one like it. */
export interface LogShape {
  /** A text that only the first line of a turn has. */
  readonly turnStart: string
  /** Finds the running number of a line; its first group is what stands before the number. */
  readonly ordinal: RegExp
}
