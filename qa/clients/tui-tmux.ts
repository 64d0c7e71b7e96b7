import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Exit, exitOf, kill, start, within } from '../kit/child.ts'
import { environment, type Place } from '../kit/place.ts'
import { type Outcome, run, words } from './program.ts'

/** Terminal every TUI is shown in: large enough that nothing the judge looks for is cut off. */
const SIZE = ['-x', '140', '-y', '50'] as const
const READY_MS = 20_000
/** Stands for the exit code of a program that was killed together with its shell. */
const KILLED = 137
/** A frozen tmux must not hang a run; an answer takes milliseconds on an idle machine. */
const ANSWER_MS = 30_000

/**
 * A tmux of its own, with its socket in `place`: other sessions of the user are neither seen nor touched. It runs as our
 * child, so it ends with the run however that ends, and its panes get SIGHUP with it.
 */
export class Tmux {
  readonly #place: Place
  readonly #child: ChildProcess
  readonly #exited: Promise<Exit>
  readonly #socket: string
  readonly #exitFiles = new Map<string, string>()
  #opened = 0

  private constructor(place: Place, child: ChildProcess, socket: string) {
    this.#place = place
    this.#child = child
    this.#exited = exitOf(child)
    this.#socket = socket
  }

  /** Panes see `env` beside the bare environment of the place. Throws when tmux is missing or does not come up. */
  static async start(place: Place, env: Readonly<Record<string, string>> = {}): Promise<Tmux> {
    const socket = join(place.dir, 't')
    const child = start(['tmux', '-S', socket, '-f', '/dev/null', '-D'], {
      cwd: place.cwd,
      env: { ...environment(place, env), TERM: 'xterm-256color' },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const tmux = new Tmux(place, child, socket)
    await tmux.#untilReady()
    // A program that has ended stays on the screen, so that its last words and its exit code can be read.
    await tmux.ask('set-option', '-g', 'remain-on-exit', 'on', ';', 'set-option', '-g', 'status', 'off')
    await tmux.ask('set-option', '-g', 'default-terminal', 'xterm-256color')
    return tmux
  }

  /** Starts a program in a pane and gives the pane's id. Its exit code is asked for with `exitCode`. */
  async open(argv: readonly string[]): Promise<string> {
    const file = join(this.#place.dir, `exit-${this.#opened++}`)
    const command = ['sh', '-c', '"$@"; echo $? > "$0"', file, ...argv]
    const id = await this.ask('new-session', '-d', '-P', '-F', '#{pane_id}', ...SIZE, '-c', this.#place.cwd, ...command)
    this.#exitFiles.set(id.trim(), file)
    return id.trim()
  }

  /** The exit code of a pane's program; null while it runs. The shell's file knows it where tmux 3.3 forgets a 0. */
  async exitCode(id: string): Promise<number | null> {
    const dead = (await this.ask('display-message', '-p', '-t', id, '#{pane_dead}')).trim()
    if (dead !== '1') return null
    const file = this.#exitFiles.get(id) ?? ''
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : KILLED
  }

  /** Runs one tmux command and gives its output; throws with tmux's own words when it fails. */
  async ask(...args: readonly string[]): Promise<string> {
    const outcome = await this.#try(args)
    if (outcome.code !== 0) throw new Error(`tmux ${args[0]} failed\n${words(outcome)}`)
    return outcome.stdout
  }

  /** Ends it and whatever still runs in its panes. */
  async close(): Promise<void> {
    await this.#try(['kill-server'])
    await within(2000, this.#exited, null)
    kill(this.#child)
  }

  #try(args: readonly string[]): Promise<Outcome> {
    return run(['tmux', '-S', this.#socket, ...args], this.#place, {}, ANSWER_MS)
  }

  async #untilReady(): Promise<void> {
    const end = Date.now() + READY_MS
    while (Date.now() < end) {
      if (existsSync(this.#socket)) return
      const gone = await within(25, this.#exited, null)
      if (gone?.code === 127) throw new Error('tmux is not installed, or not on PATH')
      if (gone) throw new Error(`tmux ended at once with ${gone.signal ?? gone.code} (version 3.2 or newer is needed)`)
    }
    kill(this.#child)
    throw new Error(`tmux made no socket within ${READY_MS} ms`)
  }
}
