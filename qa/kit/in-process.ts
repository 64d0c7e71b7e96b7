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

/** What the module named by `--in-process` exports as `startInProcess`. */
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

/** Loads the module that can start Skein in this process; throws with the reason when it cannot. */
export async function loadInProcess(module: string): Promise<StartInProcess> {
  const loaded = (await import(module)) as { startInProcess?: StartInProcess }
  if (typeof loaded.startInProcess !== 'function') throw new Error(`${module} exports no startInProcess`)
  return loaded.startInProcess
}
