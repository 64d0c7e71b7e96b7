import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../src/base/json.ts'
import { type Backend, openBackend } from '../kit/backend.ts'
import { sleep } from '../kit/child.ts'
import { dig, digText } from '../kit/dig.ts'
import { wanted } from '../kit/options.ts'
import { makePlace, type Place } from '../kit/place.ts'
import { eventually } from '../kit/server.ts'
import { runAlone, type Session } from '../kit/session.ts'
import { AcpClient, codexInFront, showTo } from './acp-client.ts'
import { clientCommand } from './install.ts'

const VERSIONS = ['1.1.0', '2.6.0'] as const

/**
 * codex-acp, through which Zed, JetBrains and other editors use codex, starts the server under test as its `codex` and goes
 * through an ordinary session; the history is loaded by a second process.
 */
export async function acp(session: Session): Promise<void> {
  for (const version of VERSIONS) {
    try {
      const adapter = await clientCommand(`acp-${version}`)
      for (const model of session.options.models) await acpWith(session, version, adapter, model)
    } catch (error) {
      session.verdicts.fail(`acp ${version}`, error instanceof Error ? error.message : String(error))
    }
  }
}

async function acpWith(session: Session, version: string, adapter: readonly string[], model: Backend): Promise<void> {
  const backend = await openBackend(model)
  const place = makePlace(session.root, `acp-${version}`)
  backend.configure(place)
  const folder = join(place.dir, 'wire')
  const editor = new Editor(adapter, codexInFront(session.options.server, folder), place)
  try {
    for (const [name, step] of Object.entries(STEPS)) {
      if (!wanted(name, session.options.only)) continue
      await session.verdicts.check(`acp ${version} ${name} with ${model}`, () => step(editor))
    }
    if (session.witness) showTo(session.witness, folder)
  } finally {
    await editor.client.stop()
    backend.close()
  }
}

/** What the steps share. */
class Editor {
  readonly place: Place
  client: AcpClient
  sessionId = ''
  readonly #adapter: readonly string[]
  readonly #codex: string

  constructor(adapter: readonly string[], codex: string, place: Place) {
    this.#adapter = adapter
    this.#codex = codex
    this.place = place
    this.client = new AcpClient(adapter, codex, place)
  }

  async initialize(): Promise<unknown> {
    return this.client.call('initialize', {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      clientInfo: { name: 'skein-qa', version: '1.0.0' },
    })
  }

  /** Sends a prompt and gives why it stopped. */
  async prompt(text: string): Promise<string> {
    const prompt = [{ type: 'text', text }]
    return digText(await this.client.call('session/prompt', { sessionId: this.sessionId, prompt }), 'stopReason')
  }

  /** As an editor that is closed and opened again: a new adapter with a new server. */
  async restart(): Promise<void> {
    await this.client.stop()
    this.client = new AcpClient(this.#adapter, this.#codex, this.place)
    await this.initialize()
  }
}

const STEPS: Readonly<Record<string, (editor: Editor) => Promise<void>>> = {
  async initialize(editor) {
    const result = await editor.initialize()
    expect(dig(result, 'protocolVersion') === 1, 'the protocol version is not 1', result)
  },

  async new(editor) {
    const result = await editor.client.call('session/new', { cwd: editor.place.cwd, mcpServers: [] })
    editor.sessionId = digText(result, 'sessionId')
    // Skills and titles arrive a little later.
    await sleep(300)
  },

  async prompt(editor) {
    const from = editor.client.updates.length
    const why = await editor.prompt('say: hello from the editor')
    expect(why === 'end_turn', 'the turn did not end by itself', why)
    const text = editor.client.text('agent_message_chunk', from)
    expect(text.trim() === 'hello from the editor', 'the answer is not what the model said', text)
  },

  async approval(editor) {
    const before = editor.client.asked.length
    editor.client.permission = 'allow'
    const why = await editor.prompt('ask-run: touch approved.txt\nsay: done')
    expect(why === 'end_turn', 'the turn did not end by itself', why)
    expect(editor.client.asked.length === before + 1, 'it was not asked once', editor.client.asked)
    expect(exists(editor, 'approved.txt'), 'the approved command did not run', editor.client.updates.slice(-6))
  },

  async rejection(editor) {
    editor.client.permission = 'reject'
    const before = editor.client.asked.length
    const why = await editor.prompt('ask-run: touch rejected.txt\nsay: done')
    editor.client.permission = 'allow'
    expect(editor.client.asked.length === before + 1, 'it was not asked once', editor.client.asked)
    // The older adapter declines and the turn goes on, the newer one cancels it.
    expect(why === 'end_turn' || why === 'cancelled', 'the turn ended in an odd way', why)
    expect(!exists(editor, 'rejected.txt'), 'the rejected command ran', why)
  },

  async patch(editor) {
    editor.client.permission = 'allow'
    const from = editor.client.updates.length
    const why = await editor.prompt('write: from-acp.txt = hello\nsay: written')
    expect(why === 'end_turn', 'the turn did not end by itself', why)
    expect(exists(editor, 'from-acp.txt'), 'the file was not written', editor.client.updates.slice(from))
    const calls = JSON.stringify(editor.client.updates.slice(from))
    expect(calls.includes('from-acp.txt'), 'no tool call shows the file', calls)
  },

  async cancel(editor) {
    const from = editor.client.updates.length
    const stopped = editor.prompt('slow: 800\nsay: one two three four five six seven eight nine ten')
    await eventually(5000, () => editor.client.text('agent_message_chunk', from) !== '')
    editor.client.notify('session/cancel', { sessionId: editor.sessionId })
    const why = await stopped
    expect(why === 'cancelled', 'the prompt was not cancelled', why)
    const text = editor.client.text('agent_message_chunk', from)
    expect(!text.includes('ten'), 'the model went on', text)
  },

  async 'prompt while running'(editor) {
    const from = editor.client.updates.length
    const first = editor.prompt('slow: 200\nsay: first is slow')
    await eventually(5000, () => editor.client.text('agent_message_chunk', from) !== '')
    const answers = await Promise.all([first, editor.prompt('say: second')])
    expect(answers.join() === 'end_turn,end_turn', 'not both prompts ended', answers)
    const text = editor.client.text('agent_message_chunk', from)
    expect(/first is slow[\s\S]*second/.test(text), 'the answers are not whole and in order', text)
  },

  async plan(editor) {
    const from = editor.client.updates.length
    await editor.prompt('plan: look; *think; act\nsay: planned')
    const plan = editor.client.updates.slice(from).findLast(update => update.sessionUpdate === 'plan')
    const entries = dig(plan, 'entries')
    expect(Array.isArray(entries) && entries.length === 3, 'no plan with three entries', plan)
  },

  async thinking(editor) {
    const from = editor.client.updates.length
    await editor.prompt('think: deeply about it\nsay: thought')
    const thought = editor.client.text('agent_thought_chunk', from)
    expect(thought.includes('deeply about it'), 'the thoughts did not arrive', thought)
  },

  async command(editor) {
    const from = editor.client.updates.length
    await editor.prompt('run: ls\nsay: listed')
    const calls = editor.client.updates
      .slice(from)
      .filter(update => String(update.sessionUpdate).startsWith('tool_call'))
    expect(
      calls.some(call => call.status === 'completed'),
      'no tool call completed',
      calls,
    )
  },

  async failure(editor) {
    const from = editor.client.updates.length
    const why = await editor.prompt('fail: server_error the model broke')
    expect(why === 'end_turn', 'a failed turn must end the prompt', why)
    expect(editor.client.text('agent_message_chunk', from) !== '', 'the failure is not shown', why)
  },

  async list(editor) {
    const result = await editor.client.call('session/list', { cwd: editor.place.cwd })
    const sessions = dig(result, 'sessions')
    const ids = Array.isArray(sessions) ? sessions.filter(isObject).map(entry => entry.sessionId) : []
    expect(ids.includes(editor.sessionId), 'the session is not listed', result)
  },

  async close(editor) {
    await editor.client.call('session/close', { sessionId: editor.sessionId })
  },

  async load(editor) {
    await editor.restart()
    await editor.client.call('session/load', { sessionId: editor.sessionId, cwd: editor.place.cwd, mcpServers: [] })
    await eventually(5000, () => editor.client.text('agent_message_chunk').includes('hello from the editor'))
    const said = editor.client.text('user_message_chunk')
    const answered = editor.client.text('agent_message_chunk')
    expect(said.includes('say: hello from the editor'), 'what the person said is not in the history', said)
    expect(answered.includes('hello from the editor'), 'the answer is not in the history', answered)
    const why = await editor.prompt('say: and on it goes')
    expect(why === 'end_turn', 'the loaded session takes no prompt', why)
  },

  async quit(editor) {
    const code = await editor.client.stop()
    expect(code !== null, 'the adapter had to be killed', code)
  },
}

const exists = (editor: Editor, file: string): boolean => existsSync(join(editor.place.cwd, file))

function expect(holds: boolean, why: string, seen: unknown): void {
  if (!holds) throw new Error(`${why}\nseen: ${JSON.stringify(seen)?.slice(0, 1500)}`)
}

if (import.meta.filename === process.argv[1]) await runAlone(acp)
