import type { IncomingMessage, Server } from 'node:http'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { ServerOptions } from 'ws'
import { WebSocketServer } from 'ws'
import type { Channel } from '../rpc/channel.ts'
import type { After } from '../rpc/timer.ts'
import { systemAfter } from '../rpc/timer.ts'
import type { Policy } from './http.ts'
import { answerPlain, pathOf, refuseUpgrade, respond, respondRaw } from './http.ts'
import { TextFrames } from './text-frames.ts'
import { CLOSE_TIMEOUT_MS, MAX_MESSAGE, webSocketChannel } from './websocket.ts'

/** How long a connection may take to become a WebSocket, as with sshd's login grace. */
const HANDSHAKE_MS = 5000

/** Connections that have not proved anything yet. One more pushes out the oldest, so that a flood of them locks nobody out. */
const MAX_STRANGERS = 64

// No deflate: measured, it costs eight times the CPU per frame. `closeTimeout` is missing in the types of ws.
const webSocketOptions: ServerOptions & { readonly closeTimeout: number } = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE,
  autoPong: false,
  closeTimeout: CLOSE_TIMEOUT_MS,
}

export interface GateOptions {
  readonly transport: 'websocket' | 'unix'
  readonly host: Policy['host']
  readonly authorize: Policy['authorize']
  readonly onChannel: (channel: Channel) => void
  readonly after?: After | undefined
  readonly report?: ((error: Error) => void) | undefined
}

/** An HTTP server that answers probes and turns into a `Channel` every upgrade that its policy lets in. */
export class Gate {
  readonly server: Server
  readonly #options: GateOptions
  readonly #policy: Policy
  readonly #after: After
  /** Oldest first, each with what stops its timer. */
  readonly #strangers = new Map<Socket, () => void>()
  readonly #webSockets = new WebSocketServer(webSocketOptions)
  readonly #frames = new TextFrames()
  #draining = false

  constructor(options: GateOptions) {
    this.#options = options
    this.#after = options.after ?? systemAfter
    this.#policy = { host: options.host, authorize: options.authorize, draining: () => this.#draining }
    this.server = createServer((request, response) => respond(response, answerPlain(request, this.#policy)))
    this.server.on('connection', socket => this.#admit(socket))
    this.server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head))
  }

  /** Listens at `where`; from then on errors are reported, not thrown. Rejects with what went wrong. */
  async listen(where: { readonly path: string } | { readonly host: string; readonly port: number }): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen({ ...where, backlog: 511 }, () => {
        this.server.off('error', reject)
        resolve()
      })
    })
    this.server.on('error', error => this.#options.report?.(error))
  }

  drain(): void {
    this.#draining = true
  }

  close(): void {
    this.server.close()
    for (const socket of this.#strangers.keys()) socket.destroy()
  }

  #admit(socket: Socket): void {
    const [oldest] = this.#strangers.keys()
    if (oldest && this.#strangers.size >= MAX_STRANGERS) {
      oldest.destroy()
      this.#forget(oldest)
    }
    const cancel = this.#after(HANDSHAKE_MS, () => socket.destroy())
    this.#strangers.set(socket, cancel)
    socket.on('error', () => {}) // a reset between node's handlers and those of ws must not end the process
    socket.on('close', () => this.#forget(socket))
  }

  #forget(socket: Socket): void {
    this.#strangers.get(socket)?.()
    this.#strangers.delete(socket)
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const refusal = refuseUpgrade(request, this.#policy)
    if (refusal) {
      respondRaw(socket, refusal)
      return
    }
    const { transport, onChannel } = this.#options
    this.#webSockets.handleUpgrade(request, socket, head, ws => {
      this.#forget(socket)
      onChannel(webSocketChannel({ ws, socket, transport, path: pathOf(request), frames: this.#frames }))
    })
  }
}
