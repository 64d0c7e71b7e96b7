import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { Channel } from '../../src/rpc/channel.ts'
import { readMessage, responseFrame } from '../../src/rpc/message.ts'
import { Outbox } from '../../src/rpc/outbox.ts'
import { parseAddress } from '../../src/transport/address.ts'
import type { Listener, ListenOptions } from '../../src/transport/listen.ts'
import { listen } from '../../src/transport/listen.ts'
import { readToken } from '../../src/transport/token.ts'

export interface Served extends Listener {
  readonly port: number
  readonly home: string
  readonly channels: Channel[]
  /** What happened on the channels, in order. */
  readonly log: string[]
  readonly outboxes: Outbox[]
  token(): string
}

/** A private directory with a short name: a socket path may have 107 bytes only. */
export function temporary(t: Test): string {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'sk-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Listens and answers every request with its params. */
export async function serve(t: Test, url: string, options: Partial<ListenOptions> = {}): Promise<Served> {
  const home = options.home ?? temporary(t)
  const channels: Channel[] = []
  const outboxes: Outbox[] = []
  const log: string[] = []
  const accept = (channel: Channel): void => {
    channels.push(channel)
    const outbox = new Outbox(channel)
    outboxes.push(outbox)
    channel.open({
      message: text => {
        const message = readMessage(text)
        if (message.kind === 'request') outbox.post(responseFrame(message.id, message.params ?? null))
        else log.push(`${message.kind} ${text}`)
      },
      oversized: () => {},
      drain: () => outbox.drain(),
      closed: () => {
        outbox.discard()
        log.push('closed')
      },
    })
  }
  const address = parseAddress(url, { home, cwd: home })
  const listener = await listen(address, { home, ...options }, accept)
  t.teardown(() => {
    listener.close()
    for (const channel of channels) channel.close(1001, 'test over')
  })
  const port = Number(/:(\d+)$/.exec(listener.url)?.[1] ?? 0)
  return { ...listener, port, home, channels, outboxes, log, token: () => readToken(listener.tokenFile ?? '') }
}

export const open = (t: Test) => serve(t, 'ws://127.0.0.1:0', { wsAuth: 'off' })

/** Sends raw bytes and gives all that comes back before the end. */
export function raw(where: number | string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = typeof where === 'number' ? connectSocket(where, '127.0.0.1') : connectSocket(where)
    let text = ''
    socket.on('connect', () => socket.write(bytes))
    socket.on('data', chunk => {
      text += String(chunk)
      if (text.startsWith('HTTP/1.1 101')) socket.destroy()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}

export const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n\r\n`
export const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
]

/** Status and body of a request whose headers are `headers`, with `Host` unless one is given. */
export async function ask(where: number | string, start: string, headers: readonly string[] = []): Promise<string> {
  const named = headers.some(line => /^host:/i.test(line))
  const host = named ? [] : [typeof where === 'number' ? `Host: 127.0.0.1:${where}` : 'Host: localhost']
  const answer = await raw(where, lines(`${start} HTTP/1.1`, ...host, ...headers))
  const [head, body] = answer.split('\r\n\r\n')
  return `${head?.split(' ')[1]} ${head?.startsWith('HTTP/1.1 101') ? '' : body}`.trimEnd()
}

export function dial(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url, { headers, perMessageDeflate: false })
    ws.on('open', () => resolve(ws))
    ws.on('error', reject)
  })
}

export const message = (ws: WebSocket): Promise<string> =>
  new Promise(resolve => ws.once('message', data => resolve(String(data))))
export const closing = (ws: WebSocket): Promise<string> => {
  return new Promise(resolve => ws.once('close', (code, reason) => resolve(`${code} ${reason}`.trimEnd())))
}
export const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise(resolve => setTimeout(resolve, 5))
}
