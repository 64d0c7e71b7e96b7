// The mock model of the bench, a process of its own. The last words of the person say what it answers:
//   say:TEXT  sh:COMMAND  stream:COUNT[:BYTES]  stamp:COUNT:MICROSECONDS  pad:BYTES  anything else: "ok"
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Asked, readAsked } from './asked.ts'
import { added, closing, created, type Ids, wholeMessage } from './events.ts'
import { sendStream } from './slabs.ts'
import { sendStamps } from './stamps.ts'

const MODELS = '{"object":"list","data":[{"id":"mock-model","object":"model"}],"models":[]}'
const KEEP_ALIVE_MS = 60_000
const BACKLOG = 4096

let answers = 0

async function answer(asked: Asked, response: ServerResponse, received: bigint): Promise<void> {
  answers += 1
  const ids: Ids = { response: `resp_${answers}`, message: `msg_${answers}` }
  const [, kind = '', rest = ''] = /^(say|sh|stream|stamp|pad):([\s\S]*)$/.exec(asked.text.trim()) ?? []
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (kind === 'stream') return sendStream(response, rest)
  if (kind === 'stamp') {
    const [count = 0, everyUs = 0] = rest.split(':').map(Number)
    return sendStamps(response, ids, { count, everyUs, received })
  }
  response.end(atOnce(asked, ids, { kind, rest }))
}

function atOnce(asked: Asked, ids: Ids, { kind, rest }: { readonly kind: string; readonly rest: string }): string {
  if (asked.toolResult !== null) return wholeMessage(ids, ['done: ', asked.toolResult.slice(0, 80)])
  if (kind === 'sh') return commandCall(asked, ids, rest)
  if (kind === 'pad') return wholeMessage(ids, ['y'.repeat(Number(rest))])
  return wholeMessage(ids, (kind === 'say' ? rest : 'ok').split(/(?<= )/))
}

/** A call of the command tool, under the name that the server gave it. */
function commandCall({ tools }: Asked, ids: Ids, command: string): string {
  const name = ['exec_command', 'shell_command'].find(known => tools.includes(known)) ?? 'shell'
  const args = {
    exec_command: { cmd: command },
    shell_command: { command },
    shell: { command: ['bash', '-lc', command] },
  }
  const item = {
    type: 'function_call',
    id: `fc_${answers}`,
    call_id: `call_${answers}`,
    name,
    arguments: JSON.stringify(args[name as keyof typeof args]),
  }
  return created(ids.response) + added({ ...item, arguments: '' }) + closing(ids, item)
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const received = process.hrtime.bigint()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const path = request.url ?? ''
  if (request.method === 'POST' && /\/responses(\?|$)/.test(path)) {
    return answer(readAsked(JSON.parse(Buffer.concat(chunks).toString())), response, received)
  }
  const known = request.method === 'GET' && path.includes('/models')
  response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
  response.end(known ? MODELS : '{"error":{"message":"not found"}}')
}

const server = createServer((request, response) => {
  serve(request, response).catch(why => {
    console.error(why)
    response.destroy()
  })
})
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(0, '127.0.0.1', BACKLOG, () => console.log((server.address() as AddressInfo).port))
