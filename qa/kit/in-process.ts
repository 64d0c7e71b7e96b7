import { silentLogger } from '../../src/base/log.ts'
import type { Channel } from '../../src/rpc/channel.ts'
import { Frame } from '../../src/rpc/frame.ts'
import { Inbox, type Link } from './link.ts'

/** A server that runs inside this process, without a transport. */
export interface InProcessServer {
  /** The client's end of a new connection. */
  connect(): Channel | Promise<Channel>
  stop(): Promise<void>
}

/** What the server gets instead of a process of its own. */
export interface InProcessOptions {
  /** Its `SKEIN_HOME`. */
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** As on the command line after `app-server`. */
  readonly args: readonly string[]
}

export type StartInProcess = (options: InProcessOptions) => Promise<InProcessServer>

/** The client's end of a memory channel as a link. */
export function memoryLink(channel: Channel): Link {
  const inbox = new Inbox()
  channel.open({
    message: text => inbox.message(text),
    oversized: bytes => inbox.message(`"<${bytes} bytes dropped>"`),
    drain: () => {},
    closed: () => inbox.closed('closed'),
  })
  return {
    transport: 'memory',
    send: text => channel.send(new Frame(() => text)),
    end: () => channel.close(1000, ''),
    cut: () => channel.close(1006, ''),
    open: handlers => inbox.open(handlers),
  }
}

/** Skein itself, from its sources, in this process. */
export const startInProcess: StartInProcess = async ({ home, cwd, env, args }) => {
  const [{ AppServer }, { memoryPair }] = await Promise.all([
    import('../../src/cli/app-server.ts'),
    import('../../src/transport/memory.ts'),
  ])
  const flags = args.filter((_, index) => args[index - 1] === '-c')
  const server = new AppServer({ home, cwd, env: { ...env }, log: silentLogger, flags, profile: null, umask: 0o022 })
  return {
    connect() {
      const [ours, theirs] = memoryPair()
      server.accept(theirs)
      return ours
    },
    stop: () => server.stop(),
  }
}
