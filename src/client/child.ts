import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Channel, ChannelHandlers } from '../rpc/channel.ts'
import type { Frame } from '../rpc/frame.ts'
import { systemAfter } from '../rpc/timer.ts'
import { Inbox } from '../transport/inbox.ts'
import { LineSplitter } from '../transport/lines.ts'

/** A server to start and speak to over its stdin and stdout. */
export interface Command {
  readonly command: string
  readonly args: readonly string[]
  /** The whole environment of the child; absent: ours. */
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Gets what the server writes to stderr; absent: it goes to ours. */
  readonly stderr?: (text: string) => void
  /** Gets the child, for whoever wants to send it signals. */
  readonly started?: (child: Child) => void
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable | null>

/** How long a server has to end once its stdin has: one second more than servers promise. Then it is killed. */
const EXIT_MS = 11_000

/** How long a dead server's stdout may still be held open by a child of its own. */
const TAIL_MS = 1000

/** Starts a server. Rejects where it cannot be started. */
export async function startChild({ command, args, env, cwd, stderr, started }: Command): Promise<Channel> {
  const child = spawn(command, args, {
    ...(env && { env }),
    ...(cwd !== undefined && { cwd }),
    stdio: ['pipe', 'pipe', stderr ? 'pipe' : 'inherit'],
  }) as Child
  const channel = new ChildChannel(child)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => stderr?.(text))
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  started?.(child)
  return channel
}

/** `closed` means the process is gone and all it wrote has been delivered. */
class ChildChannel implements Channel {
  readonly transport = 'stdio'
  readonly path = null
  readonly #child: Child
  readonly #lines = new LineSplitter()
  readonly #inbox: Inbox

  constructor(child: Child) {
    this.#child = child
    this.#inbox = new Inbox(child.stdout)
    child.stdin.on('error', () => {}) // what it wrote before it died is still to be read
    child.stdin.on('drain', () => this.#inbox.drain())
    child.on('exit', () => systemAfter(TAIL_MS, () => this.#inbox.close()))
    child.on('close', () => this.#inbox.close())
  }

  get buffered(): number {
    return this.#child.stdin.writableLength
  }

  open(handlers: ChannelHandlers): void {
    this.#inbox.open(handlers)
    this.#child.stdout.on('data', (chunk: Buffer) => this.#inbox.push(this.#lines.push(chunk)))
    this.#child.stdout.on('end', () => this.#inbox.push(this.#lines.end()))
  }

  send(frame: Frame): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(frame.bytes)
  }

  cork(): void {
    this.#child.stdin.cork()
  }

  uncork(): void {
    this.#child.stdin.uncork()
  }

  pause(): void {
    this.#inbox.pause()
  }

  resume(): void {
    this.#inbox.resume()
  }

  close(): void {
    this.#child.stdin.end()
    const spare = systemAfter(EXIT_MS, () => this.#child.kill('SIGKILL'))
    this.#child.on('exit', spare)
  }
}
