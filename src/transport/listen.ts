import type { Readable, Writable } from 'node:stream'
import type { Channel } from '../rpc/channel.ts'
import type { After } from '../rpc/timer.ts'
import type { Address } from './address.ts'
import { stdioChannel } from './stdio.ts'

/** An open door. */
export interface Listener {
  /** How a client names it, with the real port. */
  readonly url: string
  /** The file that holds the bearer token, null where none is asked for. To be told to the person at the terminal. */
  readonly tokenFile: string | null
  /** Probes answer 503 and upgrades are refused from now on; connections stay. */
  drain(): void
  /** Stops listening. Connections stay: their sessions close them. */
  close(): void
}

export interface ListenOptions {
  /** For the default token file. */
  readonly home: string
  /** `off`, or the token file; absent: the default one, made when it is missing. Only `ws://` asks for tokens. */
  readonly wsAuth?: string
  readonly stdin?: Readable
  readonly stdout?: Writable
  readonly after?: After
  /** A fault of the listener that ends nothing, such as too many open files. */
  readonly report?: (error: Error) => void
}

/**
 * Opens `address`. `onChannel` gets every connection that was let in, and must `open` it. Rejects with an `Error` that says
 * why nothing listens. On the stdio road nothing of the network is ever loaded.
 */
export async function listen(
  address: Address,
  options: ListenOptions,
  onChannel: (channel: Channel) => void,
): Promise<Listener> {
  switch (address.kind) {
    case 'off':
      return { url: 'off', tokenFile: null, drain() {}, close() {} }
    case 'stdio':
      onChannel(stdioChannel(options.stdin ?? process.stdin, options.stdout ?? process.stdout))
      return { url: 'stdio://', tokenFile: null, drain() {}, close() {} }
    case 'ws':
      return (await import('./tcp.ts')).listenTcp(address, options, onChannel)
    case 'unix':
      return (await import('./unix.ts')).listenUnix(address.path, options, onChannel)
    default:
      return address satisfies never
  }
}
