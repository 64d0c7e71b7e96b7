import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Belonging, findProcesses, isAlive, MARK, type Proc, signal, startOf } from './process-walk.ts'

/** A command to run, as a program and its arguments. Nothing here is looked at by a shell. */
export interface CommandSpec {
  readonly argv: readonly string[]
  /** Must exist. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Whose command it is (a turn's id): `stopOwner` stops everything of one owner. */
  readonly owner: string
  /** Standard output and error, in the order in which they were written. */
  readonly onOutput: (chunk: Buffer) => void
}

/** How a command ended: its exit code (128 + signal for one that was killed), or why it never ran. */
export type Ended =
  | { readonly type: 'exited'; readonly code: number }
  | { readonly type: 'failed'; readonly message: string }

export interface Running {
  /** Names it among the commands of this server. */
  readonly id: string
  /** Settles when the command itself has ended and its output is in, whatever it left running. Never rejects. */
  readonly ended: Promise<Ended>
  /** Stops it and all it started: asks, then after two seconds kills. Resolves when nothing of it is left. */
  stop(): Promise<void>
}

/** Runs `$@` as a child of its own, with one pipe for both outputs. It stays the parent, so `kill -9 $PPID` hits it. */
const SHIM = '"$@" 2>&1; exit $?'

/** Ids look like codex's: numbers of four digits and more. */
const FIRST_ID = 1_000

/** Time between asking a process to end and killing it. */
const GRACE_MS = 2_000

/**
 * Every process that commands start. A command is never our own child: a small `sh` is, in a session of its own, and
 * everything below it inherits a mark in its environment. What a command leaves in the background lives on (a dev
 * server, say) until its owner or everything is stopped.
 */
export class Processes {
  readonly #server: string
  readonly #shim: string
  readonly #tasks = new Set<Task>()
  readonly #watched = new WeakSet<AbortSignal>()
  #count = 0

  /** `umask` is for the commands, where the server's own is stricter than the user's. */
  constructor(umask: number | null = null) {
    this.#shim = umask === null ? SHIM : `umask ${umask.toString(8).padStart(3, '0')}; ${SHIM}`
    // The server's own id and start stand in the mark, so that a later server can tell whom a crash left behind.
    this.#server = `${process.pid}-${startOf(process.pid) ?? '0'}-${randomBytes(4).toString('hex')}`
  }

  /** Starts a command. One that cannot be started ends as `failed`; this never throws. */
  start(spec: CommandSpec): Running {
    for (const task of this.#tasks) task.forgetIfGone()
    const id = `${FIRST_ID + ++this.#count}`
    try {
      const task = new Task(spec, id, `${this.#server}.${spec.owner}.${id}`, this.#shim)
      this.#tasks.add(task)
      task.gone.then(() => this.#tasks.delete(task))
      return task
    } catch (error) {
      // A NUL byte, or more text than the system takes as one argument.
      const message = error instanceof Error ? error.message : String(error)
      return { id, ended: Promise.resolve({ type: 'failed', message }), stop: async () => {} }
    }
  }

  /** Has everything of an owner stopped when the signal is aborted: commands that run, and what ended ones left. */
  stopOnAbort(signal: AbortSignal, owner: string): void {
    if (this.#watched.has(signal)) return
    this.#watched.add(signal)
    // Every command of a turn listens to its one signal; that is no leak.
    setMaxListeners(0, signal)
    signal.addEventListener('abort', () => void this.stopOwner(owner), { once: true })
  }

  /** Stops all that the commands of one owner have running, with what fled from their groups. */
  async stopOwner(owner: string): Promise<void> {
    await Promise.all([...this.#tasks].filter(task => task.owner === owner).map(task => task.stop()))
    await stopAll({ group: null, mark: mark => mark.startsWith(`${this.#server}.${owner}.`) })
  }

  /** Stops everything: for the end of the server. */
  async close(): Promise<void> {
    await Promise.all([...this.#tasks].map(task => task.stop()))
    await stopAll({ group: null, mark: mark => mark.startsWith(`${this.#server}.`) })
  }
}

/** Stops what servers that are no more left running: after a `kill -9`, say. To be called once, at the start. */
export async function stopOrphans(): Promise<void> {
  await stopAll({ group: null, mark: mark => /^\d+-\d+-/.test(mark) && !serverLives(mark) })
}

function serverLives(mark: string): boolean {
  const [pid, start] = mark.split('-')
  return startOf(Number(pid)) === start
}

class Task implements Running {
  readonly id: string
  readonly owner: string
  readonly ended: Promise<Ended>
  /** Settles when nothing of the command can be left. */
  readonly gone: Promise<void>
  readonly #child: ChildProcess
  readonly #mark: string
  readonly #output: Readable | null
  #stopping: Promise<void> | null = null
  #forget: () => void = () => {}
  #over = false

  constructor(spec: CommandSpec, id: string, mark: string, shim: string) {
    this.id = id
    this.owner = spec.owner
    this.#mark = mark
    this.gone = new Promise(resolve => {
      this.#forget = resolve
    })
    this.#child = spawn('/bin/sh', ['-c', shim, 'sh', ...spec.argv], {
      cwd: spec.cwd,
      env: { ...spec.env, [MARK]: mark },
      // Its own session: no terminal to ask a password on, and one group to stop.
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#output = this.#child.stdout ?? null
    this.#output?.on('data', chunk => {
      if (!this.#over) spec.onOutput(chunk)
    })
    this.ended = this.#end()
  }

  async #end(): Promise<Ended> {
    const ended = await new Promise<Ended>(resolve => {
      this.#child.once('error', error => resolve({ type: 'failed', message: error.message }))
      this.#child.once('exit', (code, name) => {
        resolve({ type: 'exited', code: code ?? 128 + (name ? constants.signals[name] : 0) })
      })
    })
    if (this.#output) await drained(this.#output)
    this.#over = true
    // The shim never dies of itself: whoever killed it meant to get away from us.
    if (this.#child.signalCode !== null) this.stop()
    else if (!this.#leftSomething()) this.#forget()
    return ended
  }

  /** What the command left in the background keeps the pipe: it is read on, to nowhere, and must not keep us alive. */
  #leftSomething(): boolean {
    const output = this.#output
    if (!output || output.readableEnded || output.destroyed) return this.#groupLives()
    if (output instanceof Socket) output.unref()
    output.once('close', () => this.forgetIfGone())
    return true
  }

  forgetIfGone(): void {
    const open = this.#output && !this.#output.destroyed
    if (this.#over && !open && !this.#stopping && !this.#groupLives()) this.#forget()
  }

  #groupLives(): boolean {
    const { pid } = this.#child
    return pid !== undefined && signal(-pid, 0)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop().then(() => this.#forget())
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    // While the shim lives the group is surely ours; later its id might be somebody else's, and marks decide.
    const running = this.#child.exitCode === null && this.#child.signalCode === null
    await stopAll({ group: running ? pid : null, mark: mark => mark === this.#mark })
  }
}

/** Waits for the end of the stream; when somebody else holds it open, until it has been quiet for a moment. */
async function drained(output: Readable): Promise<void> {
  let quiet = 0
  const heard = (): void => {
    quiet = 0
  }
  const closed = new Promise<void>(resolve => output.once('close', resolve))
  output.on('data', heard)
  // Several looks, each after the event loop has read what there is: a busy machine must not cost the last lines.
  for (let look = 0; look < 25 && quiet < 3 && !output.destroyed; look++) {
    quiet++
    await Promise.race([closed, sleep(40)])
  }
  output.off('data', heard)
}

/** Asks all who belong to end, kills who has not after the grace, and looks again until nobody is found. */
async function stopAll(belonging: Belonging): Promise<void> {
  const { group } = belonging
  // Looked for before anybody dies, since a child of the dead has no parent to be found by; but not for long.
  const walk = findProcesses(belonging)
  await Promise.race([walk, sleep(100)])
  if (group !== null) signal(-group, 'SIGTERM')
  let found = await walk
  for (const proc of found) if (proc.group !== group && isAlive(proc)) signal(proc.pid, 'SIGTERM')
  await allGone(found, group, GRACE_MS)
  for (let round = 0; round < 5; round++) {
    found = [...found.filter(isAlive), ...(await findProcesses(belonging))]
    if (found.length === 0 && !groupLives(group)) return
    // A group with a living member that we know is still that group; the whole of it dies at once, forks and all.
    if (group !== null && (groupLives(group) || found.some(proc => proc.group === group && isAlive(proc)))) {
      signal(-group, 'SIGKILL')
    }
    for (const proc of found) if (isAlive(proc)) signal(proc.pid, 'SIGKILL')
    await allGone(found, group, 500)
  }
}

async function allGone(procs: readonly Proc[], group: number | null, limitMs: number): Promise<void> {
  const end = Date.now() + limitMs
  while ((procs.some(isAlive) || groupLives(group)) && Date.now() < end) await sleep(20)
}

/** Where there is no /proc to look into, all that can be asked is whether the group has anybody left. */
const groupLives = (group: number | null): boolean =>
  group !== null && process.platform !== 'linux' && signal(-group, 0)
