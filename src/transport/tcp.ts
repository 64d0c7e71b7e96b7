import type { AddressInfo } from 'node:net'
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { Channel } from '../rpc/channel.ts'
import type { Address } from './address.ts'
import { isLoopback, wsUrl } from './address.ts'
import { Gate } from './gate.ts'
import type { Listener, ListenOptions } from './listen.ts'
import { bearerCheck, createTokenFile, defaultTokenFile, readToken } from './token.ts'

type WsAddress = Extract<Address, { kind: 'ws' }>

/** WebSockets on a TCP port. Refuses to go without a token where others than this machine could connect. */
export async function listenTcp(
  { host, port }: WsAddress,
  options: ListenOptions,
  onChannel: (channel: Channel) => void,
): Promise<Listener> {
  const tokenFile = tokenFileOf(options)
  if (tokenFile === null && !isLoopback(host)) {
    throw new Error(
      `refusing to listen on ${wsUrl(host, port)} without a token: --ws-auth off is for loopback addresses only`,
    )
  }
  const authorize = tokenFile === null ? () => null : bearerCheck(readToken(tokenFile))
  let allowed = (_host: string): boolean => false
  const { after, report } = options
  const gate = new Gate({ transport: 'websocket', host: name => allowed(name), authorize, onChannel, after, report })
  try {
    await gate.listen({ host, port })
  } catch (error) {
    throw new Error(`cannot listen on ${wsUrl(host, port)}: ${(error as Error).message}`, { cause: error })
  }
  const real = (gate.server.address() as AddressInfo).port
  allowed = hostRule(host, real)
  return { url: wsUrl(host, real), tokenFile, drain: () => gate.drain(), close: () => gate.close() }
}

function tokenFileOf({ home, wsAuth }: ListenOptions): string | null {
  if (wsAuth === 'off') return null
  if (wsAuth !== undefined) return resolve(wsAuth)
  const path = defaultTokenFile(home)
  createTokenFile(path)
  return path
}

/**
 * Which `Host` headers name a listener. A web page can make any name of its own point here, but not `localhost` and not an
 * address. Bound to all addresses, each of them is right.
 */
function hostRule(host: string, port: number): (given: string) => boolean {
  const names = new Set(['localhost', host])
  if (isLoopback(host)) names.add('127.0.0.1').add('::1')
  const wildcard = host === '0.0.0.0' || /^[0:]+$/.test(host)
  return given => {
    const { name, port: givenPort } = splitHost(given)
    return givenPort === port && (names.has(name) || (wildcard && isIP(name) !== 0))
  }
}

/** `[::1]:80` and `localhost:80` as name and port; a port left out is 80, as HTTP has it. */
function splitHost(given: string): { readonly name: string; readonly port: number } {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(given)
  return { name: match?.[1] ?? match?.[2] ?? '', port: Number(match?.[3] ?? 80) }
}
