import { createLogger } from '../base/log.ts'
import type { Channel } from '../rpc/channel.ts'
import { memoryPair } from '../transport/memory.ts'
import { AppServer } from './app-server.ts'
import { readCommand } from './command.ts'

/** A server in this process: the same program without a listener, for tests and for hosts that embed it. */
export interface InProcessServer {
  /** The client's end of a new connection. */
  connect(): Channel
  stop(): Promise<void>
}

export interface InProcessOptions {
  /** Its `SKEIN_HOME`. */
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** As on the command line after `app-server`; listeners mean nothing here. */
  readonly args: readonly string[]
}

/** Starts one. Rejects when the arguments are wrong. */
export async function startInProcess({ home, cwd, env, args }: InProcessOptions): Promise<InProcessServer> {
  const command = readCommand(['app-server', ...args])
  if (command.name !== 'app-server') throw new Error('message' in command ? command.message : 'not a server')
  const { flags, profile } = command
  const server = new AppServer({ home, cwd, env, log: createLogger('warn'), flags, profile, umask: process.umask() })
  return {
    connect() {
      const [mine, theirs] = memoryPair()
      server.accept(theirs)
      return mine
    },
    stop: () => server.stop(),
  }
}
