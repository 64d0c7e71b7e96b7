// The floor: the least that a server on Node can do and still speak what the bench speaks. A physical limit to compare with,
// not a product: no settings, no checks, no approvals, no history after a restart, and prompts that are nearly empty.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Peer } from './peer.ts'
import { Thread } from './thread.ts'

interface Params {
  readonly threadId: string
  readonly cwd: string
  readonly limit?: number
  readonly input: readonly { readonly text: string }[]
}

const home = process.env.FLOOR_HOME ?? '.'
const model = new URL(process.env.FLOOR_MODEL ?? 'http://127.0.0.1:1')
const threads = new Map<string, Thread>()
mkdirSync(home, { recursive: true })

const METHODS: Readonly<Record<string, (params: Params, peer: Peer) => object>> = {
  initialize: () => ({ userAgent: 'node-floor', codexHome: home, platformFamily: 'unix', platformOs: 'linux' }),
  'thread/start': startThread,
  'thread/resume': ({ threadId }, peer) => {
    const thread = known(threadId)
    thread.peers.add(peer)
    return { thread: thread.shown }
  },
  'thread/read': ({ threadId }) => ({ thread: known(threadId).shown }),
  'thread/loaded/list': () => ({ data: [...threads.keys()], nextCursor: null }),
  'thread/list': ({ limit = 25 }) => ({
    data: [...threads.values()].slice(-limit).map(t => t.shown),
    nextCursor: null,
  }),
  'turn/start': startTurn,
}

function startThread({ cwd }: Params, peer: Peer): object {
  const id = randomUUID()
  const thread = new Thread({ id, file: join(home, `${id}.jsonl`), cwd, model })
  thread.peers.add(peer)
  threads.set(id, thread)
  setImmediate(() => thread.note('thread/started', { thread: thread.shown }))
  return { thread: thread.shown, model: 'mock', cwd }
}

function startTurn({ threadId, input }: Params): object {
  const thread = known(threadId)
  const id = randomUUID()
  const text = input.map(part => part.text).join('\n')
  setImmediate(() => void thread.run(id, text))
  return { turn: { id, status: 'inProgress', items: [], error: null } }
}

function known(id: string): Thread {
  const thread = threads.get(id)
  if (!thread) throw new Error(`no thread ${id}`)
  return thread
}

function take(peer: Peer, text: string): void {
  const { id, method, params } = JSON.parse(text) as { id?: number; method: string; params: Params }
  if (id === undefined) return
  try {
    const run = METHODS[method]
    if (!run) return peer.send({ id, error: { code: -32601, message: `no method ${method}` } })
    peer.send({ id, result: run(params, peer) })
  } catch (why) {
    peer.send({ id, error: { code: -32600, message: String(why) } })
  }
}

function forget(peer: Peer): void {
  peer.dead = true
  for (const thread of threads.values()) thread.peers.delete(peer)
}

function serveStdio(): void {
  const peer = new Peer({ stream: process.stdout, kind: 'line' })
  const lines = createInterface({ input: process.stdin })
  lines.on('line', line => line !== '' && take(peer, line))
  lines.on('close', () => process.exit(0))
}

/** The `ws` package reads; what is sent goes around it, straight to the socket. */
async function serveWs(port: number): Promise<void> {
  const { WebSocketServer } = await import('ws')
  const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false, backlog: 4096 })
  server.on('connection', (socket, { socket: stream }) => {
    const peer = new Peer({ stream, kind: 'ws' })
    stream.setNoDelay(true)
    socket.on('message', data => take(peer, data.toString()))
    socket.on('close', () => forget(peer)).on('error', () => forget(peer))
  })
}

const at = process.argv.indexOf('--listen')
if (at < 0) serveStdio()
else await serveWs(Number(process.argv[at + 1]))
