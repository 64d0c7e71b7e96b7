import { accessSync, constants } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, isAbsolute } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../base/ids.ts'
import { MARK } from './process-walk.ts'
import type { Processes } from './processes.ts'
import { joinWords } from './quote.ts'

/** A shell that commands are given to. */
export interface ShellProgram {
  readonly path: string
  /** Whether it reads the POSIX grammar that our classification knows, and is one of the system's own. */
  readonly trusted: boolean
}

/** A command line as codex would run it and every client shows it: `/bin/bash -lc 'echo hi'`. */
export function shownCommand(shell: ShellProgram, command: string, login: boolean): string {
  return joinWords([shell.path, login ? '-lc' : '-c', command])
}

const POSIX_SHELLS = ['bash', 'zsh', 'sh', 'dash']
const SYSTEM_FOLDERS = ['/bin', '/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/** How long start-up files may take to tell us their environment. */
const LOGIN_LIMIT_MS = 3_000

/**
 * The user's shell and what its start-up files make of the environment. Those files are run once in the life of the
 * server, not once a command: they cost 80 ms and more, and some of them hang.
 */
export class Shell {
  readonly #processes: Processes
  readonly #env: NodeJS.ProcessEnv
  readonly #limitMs: number
  readonly #user: ShellProgram
  #login: Promise<NodeJS.ProcessEnv> | null = null

  /** `env` is the server's own environment. */
  constructor(processes: Processes, env: NodeJS.ProcessEnv, limitMs: number = LOGIN_LIMIT_MS) {
    this.#processes = processes
    this.#env = env
    this.#limitMs = limitMs
    this.#user = firstShell([systemShell(), '/bin/bash', '/bin/zsh'])
  }

  /** The shell to use; null when the one that was asked for is not there. No wish, or a bare `bash`, is fine. */
  find(wanted: string | null): ShellProgram | null {
    if (wanted === null || wanted === '' || wanted === basename(this.#user.path)) return this.#user
    if (!wanted.includes('/')) return systemProgram(wanted)
    return isAbsolute(wanted) && isRunnable(wanted) ? program(wanted) : null
  }

  /** The environment for a command: that of a login shell, or (`login` false) simply the server's own. */
  async environment(login: boolean): Promise<NodeJS.ProcessEnv> {
    if (!login) return withoutTerminal(this.#env)
    this.#login ??= this.#readLogin()
    return withoutTerminal(await this.#login)
  }

  /** Runs the login shell once and has it print its environment; our own when that fails or takes too long. */
  async #readLogin(): Promise<NodeJS.ProcessEnv> {
    const from = `env-${newId()}`
    const chunks: Buffer[] = []
    const running = this.#processes.start({
      argv: [this.#user.path, '-lc', `printf '%s\\0' ${from}; exec env -0`],
      cwd: '/',
      env: this.#env,
      owner: 'login',
      onOutput: chunk => void chunks.push(chunk),
    })
    const ended = await Promise.race([running.ended, sleep(this.#limitMs, null, { ref: false })])
    if (ended === null) running.stop()
    const done = ended?.type === 'exited' && ended.code === 0
    return (done && parseEnvironment(Buffer.concat(chunks).toString('utf8'), from)) || this.#env
  }
}

/** Nobody sits at a terminal: no colours, no pagers. The same variables as codex sets. */
function withoutTerminal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const pager = { PAGER: 'cat', GIT_PAGER: 'cat', GH_PAGER: 'cat' }
  return { ...env, ...pager, TERM: 'dumb', NO_COLOR: '1', COLORTERM: '' }
}

function systemShell(): string | null {
  try {
    return userInfo().shell
  } catch {
    return null
  }
}

function firstShell(paths: readonly (string | null)[]): ShellProgram {
  for (const path of paths) {
    if (path && POSIX_SHELLS.includes(basename(path)) && isRunnable(path)) return program(path)
  }
  return program('/bin/sh')
}

function systemProgram(name: string): ShellProgram | null {
  if (!POSIX_SHELLS.includes(name)) return null
  const path = SYSTEM_FOLDERS.map(folder => `${folder}/${name}`).find(isRunnable)
  return path ? program(path) : null
}

function program(path: string): ShellProgram {
  const name = basename(path)
  return { path, trusted: POSIX_SHELLS.includes(name) && SYSTEM_FOLDERS.includes(path.slice(0, -name.length - 1)) }
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The variables printed after the line `from`; null when they are not an environment that can be worked in. */
function parseEnvironment(printed: string, from: string): NodeJS.ProcessEnv | null {
  const start = printed.indexOf(`${from}\0`)
  if (start < 0) return null
  const entries = printed.slice(start + from.length + 1).split('\0')
  const variables = Object.fromEntries(entries.filter(entry => entry.indexOf('=') > 0).map(splitEntry))
  // `env -0` is not everywhere: what it printed must at least know where programs are.
  return variables.PATH ? without(variables, ['_', 'SHLVL', 'PWD', 'OLDPWD', MARK]) : null
}

function splitEntry(entry: string): [string, string] {
  const at = entry.indexOf('=')
  return [entry.slice(0, at), entry.slice(at + 1)]
}

function without(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)))
}
