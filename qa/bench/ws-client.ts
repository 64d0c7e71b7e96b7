import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { Client } from './client.ts'
import { CLOSE, encodeFrame, FrameReader, PING, PONG } from './ws-frames.ts'

const CONNECT_MS = 30_000
/** Status 1000 of a close frame. */
const NORMAL = Buffer.from([3, 232])

/** A client on a WebSocket of this machine, without a library so that it stays cheaper than the server. */
export async function wsClient(port: number): Promise<Client> {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  socket.on('error', () => {})
  const early = await upgrade(socket, port)
  const client = new Client({
    send: text => void socket.write(encodeFrame(1, Buffer.from(text))),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => close(socket),
    drop: () => void socket.destroy(),
  })
  hearFrames(socket, client, early)
  return client
}

/** Shakes hands; gives the bytes that came after the server's answer. */
function upgrade(socket: Socket, port: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      socket.destroy()
      reject(new Error(why))
    }
    const timer = setTimeout(() => fail('the WebSocket did not open in time'), CONNECT_MS)
    let said: Buffer = Buffer.alloc(0)
    const gone = (): void => fail('closed in the handshake')
    const hear = (chunk: Buffer): void => {
      said = Buffer.concat([said, chunk])
      const end = said.indexOf('\r\n\r\n')
      if (end < 0) return
      clearTimeout(timer)
      socket.off('data', hear).off('close', gone)
      if (!said.toString('latin1', 0, end).startsWith('HTTP/1.1 101'))
        return fail(said.toString('latin1', 0, end).split('\r\n')[0] ?? '')
      resolve(said.subarray(end + 4))
    }
    socket.on('data', hear).on('close', gone)
    socket.on('close', () => clearTimeout(timer))
    socket.write(handshake(port))
  })
}

const handshake = (port: number): string =>
  [
    'GET / HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Version: 13',
    '\r\n',
  ].join('\r\n')

function hearFrames(socket: Socket, client: Client, early: Buffer): void {
  let end: unknown = { code: 1006 }
  const reader = new FrameReader((op, body) => {
    if (op === CLOSE) {
      end = { code: body.length >= 2 ? body.readUInt16BE(0) : 1005, reason: body.toString('utf8', 2) }
      socket.end()
    } else if (op === PING) socket.write(encodeFrame(PONG, body))
    else if (op !== PONG) client.take(body)
  })
  socket.on('data', chunk => reader.push(chunk))
  socket.on('close', () => client.gone(end))
  if (early.length > 0) reader.push(early)
}

function close(socket: Socket): void {
  if (socket.writable) socket.write(encodeFrame(CLOSE, NORMAL))
  setTimeout(() => socket.destroy(), 500).unref()
}
