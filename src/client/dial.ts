import type { IncomingMessage } from 'node:http'
import { connect as connectSocket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ClientOptions as WsOptions } from 'ws'
import { WebSocket } from 'ws'
import type { Channel } from '../rpc/channel.ts'
import { webSocketChannel } from '../transport/websocket.ts'
import type { ConnectOptions } from './connect.ts'

/** As the real clients have it. */
const HANDSHAKE_MS = 10_000

/** As the real clients have it: a long thread is one message. */
const MAX_PAYLOAD = 128 * 1024 * 1024

/** As much of a refusal as is worth showing. */
const MAX_REFUSAL = 1000

/** Opens a WebSocket to `ws://HOST:PORT[/PATH]` or `unix://PATH`. */
export async function dialWebSocket(target: string, { token, path, headers }: ConnectOptions): Promise<Channel> {
  const unix = target.startsWith('unix://') ? target.slice('unix://'.length) : null
  const url = new URL(unix === null ? target : 'ws://localhost/')
  if (path !== undefined) url.pathname = path
  const options: WsOptions = {
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: MAX_PAYLOAD,
    handshakeTimeout: HANDSHAKE_MS,
    headers: { ...headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
    ...(unix !== null && { createConnection: () => connectSocket(unix) }),
  }
  const { ws, socket } = await opened(new WebSocket(url, options))
  const transport = unix === null ? 'websocket' : 'unix'
  return webSocketChannel({ ws, socket, transport, path: url.pathname, frames: null })
}

function opened(ws: WebSocket): Promise<{ readonly ws: WebSocket; readonly socket: Duplex }> {
  return new Promise((resolve, reject) => {
    let socket: Duplex | null = null
    ws.on('upgrade', response => {
      socket = response.socket
    })
    ws.on('open', () => {
      ws.pause() // until the channel is opened: nothing may be lost in between
      if (socket) resolve({ ws, socket })
    })
    ws.on('error', reject)
    ws.on('unexpected-response', (request, response) => {
      void refusalText(response).then(text => {
        request.destroy()
        reject(new Error(`the server refused the connection: ${response.statusCode} ${text}`.trimEnd()))
      })
    })
  })
}

async function refusalText(response: IncomingMessage): Promise<string> {
  let text = ''
  try {
    for await (const chunk of response) {
      text += String(chunk)
      if (text.length > MAX_REFUSAL) break
    }
  } catch {
    // What has come is what there is.
  }
  return text.slice(0, MAX_REFUSAL)
}
