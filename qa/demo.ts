// `npm run demo`: Skein on its offline model, seen through the eyes of a client. Ends by itself.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { isObject } from '../src/base/json.ts'
import type { Client, Notification } from '../src/client/client.ts'
import { connect } from '../src/client/connect.ts'
import type { ClientRequests } from '../src/protocol/codex/methods.gen.ts'

type Methods = { readonly [K in keyof ClientRequests]: ClientRequests[K] }
type Skein = Client<Methods & Record<string, { params: unknown; result: unknown }>>

const say = (text: string): void => void process.stdout.write(text)

/** Starts the real program and resolves with its address and the file its token is in. */
function startServer(
  home: string,
  cwd: string,
): Promise<{ url: string; tokenFile: string; stop: () => Promise<void> }> {
  const bin = resolve(import.meta.dirname, '../dist/skein.js')
  const args = [bin, 'app-server', '--listen', 'ws://127.0.0.1:0', '-c', 'model_provider="offline"']
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, SKEIN_HOME: join(home, '.skein') },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = (): Promise<void> =>
    new Promise(done => {
      child.once('exit', () => done())
      child.kill('SIGTERM')
    })
  return new Promise((started, failed) => {
    let text = ''
    child.stderr.on('data', chunk => {
      text += chunk
      const url = /listening on (\S+)/.exec(text)?.[1]
      const tokenFile = /bearer token in (.+)/.exec(text)?.[1]
      if (url && tokenFile) started({ url, tokenFile, stop })
    })
    child.once('exit', code => failed(new Error(`the server ended with ${code}:\n${text}`)))
  })
}

/** Prints what a client would draw. */
function draw({ method, params }: Notification): void {
  if (!isObject(params)) return
  const item = isObject(params.item) ? params.item : {}
  if (method === 'item/agentMessage/delta' || method === 'item/commandExecution/outputDelta') say(String(params.delta))
  if (method === 'item/started' && item.type === 'commandExecution') say(`\n  $ ${item.command}\n`)
  if (method === 'turn/diff/updated') say(`\n${String(params.diff).replace(/^/gm, '  ')}`)
  if (method === 'turn/completed' && isObject(params.turn)) say(`\n  [turn ${params.turn.status}]\n`)
}

/** Says yes to everything, out loud: this is a folder made for the demo. */
function approve(client: Skein): void {
  client.onRequest(({ method }) => {
    say(`\n  [${method} -> accept]`)
    return { decision: 'accept' }
  })
}

async function turn(client: Skein, threadId: string, text: string): Promise<void> {
  say(`\n> ${text.replaceAll('\n', '\n> ')}\n\n`)
  await client.request('turn/start', { threadId, input: [{ type: 'text', text }] })
  await client.next('turn/completed', 60_000)
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'skein-demo-'))
  const server = await startServer(folder, folder)
  try {
    const token = readFileSync(server.tokenFile, 'utf8').trim()
    const client = (await connect(server.url, { token })) as Skein
    client.on(draw)
    approve(client)
    const hello = await client.request('initialize', {
      clientInfo: { name: 'skein-demo', title: 'Skein demo', version: '1' },
      capabilities: { experimentalApi: true },
    })
    say(`Connected to ${server.url}: ${hello.userAgent}\n`)
    const { thread, model } = await client.request('thread/start', { cwd: folder, approvalPolicy: 'on-request' })
    say(`Thread ${thread.id} on the model "${model}"\n`)
    await turn(
      client,
      thread.id,
      'say: Hello! This text is streamed word by word, over a WebSocket, from a model that needs no key.',
    )
    await turn(client, thread.id, 'ask-run: echo hello from a command you allowed > hello.txt; cat hello.txt')
    await turn(
      client,
      thread.id,
      'patch:\n*** Begin Patch\n*** Update File: hello.txt\n@@\n-hello from a command you allowed\n+hello from a patch\n*** End Patch',
    )
    const read = await client.request('thread/read', { threadId: thread.id, includeTurns: true })
    say(`\nThe history has ${read.thread.turns.length} turns, in ${read.thread.path}\n`)
    await client.close()
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  say('\nTo serve for real: npm start   (it prints what to paste into each client)\n')
}

await main()
