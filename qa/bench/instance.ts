import type { ChildProcess } from 'node:child_process'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { type Exit, exitOf, kill, start, within } from '../kit/child.ts'
import { freePort } from '../kit/server.ts'
import type { Client } from './client.ts'
import type { Paths } from './stage.ts'
import { stdioClient } from './stdio-client.ts'
import type { Subject } from './subject.ts'
import { wsClient } from './ws-client.ts'

export interface InstanceOptions {
  readonly subject: Subject
  readonly home: string
  readonly paths: Paths
}

const PORT_MS = 10_000
const STDERR_KEPT = 20_000
/** What a server gets to end by itself after its input has ended, and again after SIGTERM. */
const GRACE_MS = 1500

/**
 * The environment of servers and of what they are compared with. Clean on purpose: certificate variables of a sandbox and
 * the start-up files of a real home change start, turn and command cost by more than most things we measure.
 */
export const cleanEnv = ({ userHome }: Paths): Record<string, string> => ({
  PATH: `${dirname(process.execPath)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
  HOME: userHome,
  USER: process.env.USER ?? 'bench',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TERM: 'xterm',
})

/** One process of a server under test, in a home of its own. */
export class Instance {
  /** `performance.now` at which it was started. */
  spawnedAt = Number.NaN
  readonly #options: InstanceOptions
  #child: ChildProcess | null = null
  #exited: Promise<Exit> = Promise.resolve({ code: null, signal: null })
  #stderr = ''
  #port: number | null = null

  constructor(options: InstanceOptions) {
    this.#options = options
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error(`${this.#options.subject.name} did not start`)
    return pid
  }

  /** Starts it on its standard streams. */
  stdio(): Client {
    return stdioClient(this.#launch([]))
  }

  /** Starts it on a port; resolves when it takes connections. */
  async listen(): Promise<void> {
    this.#port = await freePort()
    this.#launch(this.#options.subject.listen(this.#port)).stdout?.resume()
    const end = performance.now() + PORT_MS
    while (!(await takesConnections(this.#port))) {
      const gone = await within(25, this.#exited, null)
      if (gone || performance.now() > end) throw new Error(`no server on its port: ${this.#stderr.slice(-400)}`)
    }
  }

  /** A further connection to its port. */
  connect(): Promise<Client> {
    if (this.#port === null) throw new Error('it listens on no port')
    return wsClient(this.#port)
  }

  /** `kill -9` for it and its children. */
  async crash(): Promise<void> {
    if (!this.#child) return
    kill(this.#child)
    await this.#exited
  }

  /** Ends it as a user would: end of input, then SIGTERM, then SIGKILL for what is left. */
  async stop(): Promise<void> {
    if (!this.#child) return
    this.#child.stdin?.end()
    if (this.#port !== null || (await this.#ends()) === null) {
      kill(this.#child, 'SIGTERM')
      await this.#ends()
    }
    await this.crash()
  }

  #ends(): Promise<Exit | null> {
    return within(GRACE_MS, this.#exited, null)
  }

  #launch(extra: readonly string[]): ChildProcess {
    const { subject, home, paths } = this.#options
    const env = { ...cleanEnv(paths), ...subject.env(paths), [subject.homeVariable]: home }
    this.spawnedAt = performance.now()
    this.#child = start([...subject.argv, ...extra], { cwd: paths.work, env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#exited = exitOf(this.#child)
    this.#child.stdin?.on('error', () => {})
    this.#child.stderr?.on('data', chunk => {
      this.#stderr = (this.#stderr + chunk).slice(-STDERR_KEPT)
    })
    return this.#child
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
