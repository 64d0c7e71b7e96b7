import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The folders of one server under test. All of them are temporary; nothing of the user's is read or written. */
export interface Place {
  readonly dir: string
  /** `HOME` of everything that runs here: empty, so that no start-up file of a shell takes part. */
  readonly home: string
  /** Where the server keeps its state and finds its config.toml: `SKEIN_HOME`, and `CODEX_HOME` for the real codex. */
  readonly state: string
  readonly cwd: string
  readonly tmp: string
}

/** The folder of one whole run; everything else lies in it and goes with it. */
export function makeRunFolder(): string {
  return mkdtempSync(join(tmpdir(), 'skein-qa-'))
}

/** A fresh place below `root`; `name` only makes it easy to find when a run is kept. */
export function makePlace(root: string, name: string): Place {
  const dir = mkdtempSync(join(root, `${name.replace(/[^\w.-]+/g, '-')}-`))
  const at = (folder: string): string => join(dir, folder)
  const place = { dir, home: at('home'), state: at('state'), cwd: at('cwd'), tmp: at('tmp') }
  for (const folder of [place.home, place.state, place.cwd, place.tmp]) mkdirSync(folder, { mode: 0o700 })
  return place
}

/** Writes a file below `folder`, making the folders on the way. */
export function writeInto(folder: string, path: string, content: string | Buffer): void {
  const target = join(folder, path)
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, content)
}

/** Removes a place or a whole run. A process that is just dying may still write into it, so it tries a few times. */
export function remove(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

/** The whole environment of a process in `place`: nothing is inherited but the path to programs. */
export function environment(place: Place, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: place.home,
    SKEIN_HOME: place.state,
    CODEX_HOME: place.state,
    TMPDIR: place.tmp,
    TERM: 'xterm',
    LANG: 'C.UTF-8',
    SHELL: '/bin/bash',
    ...more,
  }
}
