import type { Channel } from '../rpc/channel.ts'
import type { Command } from './child.ts'
import { startChild } from './child.ts'
import type { AnyMethods, ClientOptions, MethodMap } from './client.ts'
import { Client } from './client.ts'

/** `ws://HOST:PORT[/PATH]`, `unix://PATH`, a command, or an end of `memoryPair`. */
export type Target = string | Command | Channel

export interface ConnectOptions extends ClientOptions {
  /** The bearer token, for `ws://`. */
  readonly token?: string
  /** Path of the upgrade request: `/native` for the native dialect. Overrides that of a `ws://` URL. */
  readonly path?: string
  /** Headers to add to the upgrade request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Connects to `target`. Rejects with an `Error`, which names status and text where a server refused the upgrade. */
export async function connect<M extends MethodMap<M> = AnyMethods>(
  target: Target,
  options: ConnectOptions = {},
): Promise<Client<M>> {
  if (typeof target === 'string') return new Client<M>(await dial(target, options), options)
  if ('command' in target) return new Client<M>(await startChild(target), options)
  return new Client<M>(target, options)
}

async function dial(url: string, options: ConnectOptions): Promise<Channel> {
  const { dialWebSocket } = await import('./dial.ts') // loads ws, which a child on stdio does not need
  return dialWebSocket(url, options)
}
