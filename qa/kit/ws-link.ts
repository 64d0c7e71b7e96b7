import { connect } from 'node:net'
import { type ClientOptions, WebSocket } from 'ws'
import { Inbox, type Link } from './link.ts'

/** An upgrade that the server refused. */
export class Refused extends Error {
  readonly status: number
  readonly body: string
  readonly challenge: string | null
  constructor(status: number, body: string, challenge: string | null) {
    super(`HTTP ${status}`)
    this.name = 'Refused'
    this.status = status
    this.body = body
    this.challenge = challenge
  }
}

/** Where and how a WebSocket is opened. */
export interface WsAddress {
  /** `ws://...`; for a unix socket only its path counts. */
  readonly url: string
  /** Path of a unix socket that carries the same framing. */
  readonly socketPath?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly origin?: string
}

/** A link over a WebSocket, with the socket itself for those who test below the messages. */
export interface WsLink extends Link {
  readonly socket: WebSocket
}

/** Opens a WebSocket; rejects with `Refused` when the server answers the upgrade with anything but 101. */
export function openWs(address: WsAddress): Promise<WsLink> {
  const socket = new WebSocket(address.url, clientOptions(address))
  const inbox = new Inbox()
  socket.on('message', (data, binary) => inbox.message(binary ? '<binary>' : data.toString()))
  socket.on('close', code => inbox.closed(String(code)))
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(wsLink(socket, address, inbox)))
    socket.once('unexpected-response', (_request, response) => {
      let body = ''
      response.on('data', chunk => {
        body += chunk
      })
      response.on('end', () => {
        reject(new Refused(response.statusCode ?? 0, body, response.headers['www-authenticate'] ?? null))
      })
    })
    socket.on('error', reject)
  })
}

function clientOptions(address: WsAddress): ClientOptions {
  const authorization = address.token === undefined ? {} : { authorization: `Bearer ${address.token}` }
  const { socketPath, origin } = address
  return {
    perMessageDeflate: false,
    headers: { ...authorization, ...address.headers },
    ...(origin === undefined ? {} : { origin }),
    ...(socketPath === undefined ? {} : { createConnection: () => connect(socketPath) }),
  }
}

function wsLink(socket: WebSocket, address: WsAddress, inbox: Inbox): WsLink {
  return {
    transport: address.socketPath === undefined ? 'ws' : 'unix',
    socket,
    send: text => socket.send(text),
    end: () => socket.close(1000),
    cut: () => socket.terminate(),
    open: handlers => inbox.open(handlers),
  }
}
