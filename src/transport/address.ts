import { isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { absolute } from '../base/paths.ts'

/** Where to listen. */
export type Address =
  | { readonly kind: 'stdio' }
  | { readonly kind: 'unix'; readonly path: string }
  /** `host` is an IP literal without brackets; port 0 lets the system choose. */
  | { readonly kind: 'ws'; readonly host: string; readonly port: number }
  | { readonly kind: 'off' }

/** What a relative or missing socket path is completed with. */
export interface Places {
  readonly home: string
  readonly cwd: string
}

/** Reads a `--listen` URL. Throws an `Error` with codex's text where it is none. */
export function parseAddress(text: string, places: Places): Address {
  if (text === 'stdio://') return { kind: 'stdio' }
  if (text === 'off') return { kind: 'off' }
  if (text.startsWith('ws://')) return parseWs(text)
  if (!text.startsWith('unix://') || text.includes('\0')) {
    throw new Error(
      `unsupported --listen URL \`${text}\`; expected \`stdio://\`, \`unix://\`, \`unix://PATH\`, \`ws://IP:PORT\`, or \`off\``,
    )
  }
  const path = text.slice('unix://'.length)
  return { kind: 'unix', path: path === '' ? defaultSocket(places.home) : absolute(path, places.cwd) }
}

/** The socket that `unix://` alone means. */
export const defaultSocket = (home: string): string => join(home, 'app-server', 'app-server.sock')

/** The URL a client would use. */
export function wsUrl(host: string, port: number): string {
  return `ws://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

/** Whether only this machine can reach `host`, an IP literal. */
export function isLoopback(host: string): boolean {
  return (
    host
      .toLowerCase()
      .replace(/^::ffff:/, '')
      .startsWith('127.') || isOne(host)
  )
}

/** `::1` in any spelling. */
const isOne = (host: string): boolean => isIPv6(host) && /^[0:]*:0*1$/.test(host)

function parseWs(text: string): Address {
  const match = /^ws:\/\/(?:\[([^[\]%]*)\]|([^:[\]]*)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  const six = match?.[1]
  const four = match?.[2]
  if (port <= 65535 && six !== undefined && isIPv6(six)) return { kind: 'ws', host: six, port }
  if (port <= 65535 && four !== undefined && isIPv4(four)) return { kind: 'ws', host: four, port }
  throw new Error(`invalid websocket --listen URL \`${text}\`; expected \`ws://IP:PORT\``)
}
