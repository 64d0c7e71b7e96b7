import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

/** Where all of Skein's state lives: `$SKEIN_HOME`, default `~/.skein`. `CODEX_HOME` is never read. */
export function skeinHome(env: NodeJS.ProcessEnv): string {
  const set = env.SKEIN_HOME
  if (set) return resolve(set)
  return join(env.HOME || homedir(), '.skein')
}

/** `path` made absolute against `base`; an absolute path stays as it is. */
export const absolute = (path: string, base: string): string => (isAbsolute(path) ? path : resolve(base, path))
