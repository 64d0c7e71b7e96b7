import { dig, digText } from '../../kit/dig.ts'
import type { Step } from '../../mock/step.ts'
import { command, PIXEL, type Scenario, type Setting, text } from '../scenario.ts'
import { endsTurn, type Stage } from '../stage.ts'
import { item, type Talker } from '../talker.ts'

/** What the plainest scenarios differ in. */
interface Plain {
  readonly setting?: Setting
  /** What each turn says. */
  readonly turns?: readonly string[]
  /** More params of each turn. */
  readonly more?: object
  readonly threadParams?: object
  /** Reads the thread back at the end. */
  readonly read?: true
}

/** A scenario of turns on one thread over standard streams. */
export function plain(name: string, about: string, script: readonly Step[], options: Plain = {}): Scenario {
  const { setting, turns = ['go'], more = {}, threadParams = {}, read } = options
  return {
    name,
    about,
    script,
    ...(setting ? { setting } : {}),
    async run(stage) {
      const [client, threadId] = await begin(stage, threadParams)
      for (const said of turns) await stage.turn(client, threadId, said, more)
      await client.quiet()
      if (read) await client.ask('thread/read', { threadId, includeTurns: true })
    },
  }
}

/** A client over standard streams with a thread. */
export async function begin(stage: Stage, threadParams: object = {}): Promise<readonly [Talker, string]> {
  const client = await stage.stdio()
  await client.initialize()
  return [client, await stage.thread(client, threadParams)]
}

const REASONING: Step = { reason: ['**Think** first ', 'Second part'], raw: ['raw ', 'chain'], say: ['ok'] }

const plan = (args: object): Step => ({ calls: [{ name: 'update_plan', args: { ...args } }] })

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'number' } },
  required: ['a'],
  additionalProperties: false,
}

/** Turns that go well: text, reasoning, plans, commands, overrides. */
export const turns: readonly Scenario[] = [
  {
    name: 'turn-text',
    about: 'Two text turns, read back with and without turns.',
    script: [{ say: ['hello ', 'there ', 'world'] }, { say: ['second'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'hi')
      await stage.turn(client, threadId, 'more', { clientUserMessageId: 'client-msg-7' })
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
      await client.ask('thread/read', { threadId })
    },
  },
  plain('turn-text-unknown-model', 'A model that stands in no catalogue.', [{ say: ['a'] }, { say: ['b'] }], {
    setting: { model: 'mock-model' },
    turns: ['hi', 'hi'],
  }),
  {
    name: 'turn-optout',
    about: 'Exactly the named notifications stay away.',
    script: [{ say: ['a ', 'b'] }],
    async run(stage) {
      const client = await stage.stdio()
      const optOut = [
        'item/agentMessage/delta',
        'thread/started',
        'account/rateLimits/updated',
        'remoteControl/status/changed',
        'turn/completed',
      ]
      await client.initialize({ optOut })
      const threadId = await stage.thread(client)
      await client.ask('turn/start', { threadId, input: text('hi') })
      await client.quiet(600)
    },
  },
  plain('turn-raw-events', 'experimentalRawEvents.', [{ say: ['a ', 'b'] }], {
    turns: ['hi'],
    threadParams: { experimentalRawEvents: true },
  }),
  plain('turn-reasoning', 'Summary and raw reasoning, then the answer.', [{ ...REASONING, phase: 'final_answer' }], {
    turns: ['hi'],
    more: { effort: 'high', summary: 'detailed' },
    read: true,
  }),
  plain('turn-reasoning-raw', 'The same, with raw reasoning shown in the history.', [REASONING], {
    setting: { top: 'show_raw_agent_reasoning = true' },
    turns: ['hi'],
    read: true,
  }),
  plain(
    'turn-plan',
    'The checklist of update_plan.',
    [
      plan({
        explanation: 'why',
        plan: [
          { step: 'one', status: 'in_progress' },
          { step: 'two', status: 'pending' },
        ],
      }),
      plan({ plan: [{ step: 'one', status: 'completed' }] }),
      { say: ['done'] },
    ],
    { turns: ['plan'], read: true },
  ),
  plain(
    'turn-plan-mode',
    'A proposed plan in plan mode.',
    [{ say: ['Intro\n', '<proposed_plan>\n', '- step 1\n', '- step 2\n', '</proposed_plan>\n', 'outro'] }],
    {
      turns: ['plan'],
      more: {
        collaborationMode: {
          mode: 'plan',
          settings: { model: 'gpt-5.4', reasoning_effort: null, developer_instructions: null },
        },
      },
      read: true,
    },
  ),
  plain(
    'turn-command',
    'A command that succeeds and one that does not.',
    [command('echo hi; sleep 0.2; echo err >&2'), { say: ['ok'] }, command('exit 3'), { say: ['failed'] }],
    { turns: ['run', 'run2'], read: true },
  ),
  plain(
    'turn-command-actions',
    'Commands that read, list and search.',
    [
      command('cat a.txt'),
      command('ls -a'),
      command('grep -rn one .'),
      command('sed -n 1,2p a.txt && ls'),
      { say: ['ok'] },
    ],
    { setting: { files: { 'a.txt': 'one\n' } }, turns: ['run'] },
  ),
  {
    name: 'turn-command-background',
    about: 'A command that outlives its wait, is fed, and one that is left running and terminated.',
    script: [
      command('echo start; read x; echo got $x', { yield_time_ms: 300, tty: true }),
      { calls: [{ name: 'write_stdin', args: { session_id: '@SESSION', chars: 'abc\n', yield_time_ms: 500 } }] },
      { say: ['ok'] },
      command('sleep 30', { yield_time_ms: 250 }),
      { say: ['left running'] },
    ],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const started = await client.ask('turn/start', { threadId, input: text('bg') })
      await client.until(item('started', 'commandExecution'))
      await client.until(message => endsTurn(message, digText(started, 'result.turn.id')))
      await client.quiet()
      await stage.turn(client, threadId, 'bg2')
      await client.quiet()
      const listed = await client.ask('thread/backgroundTerminals/list', { threadId })
      const processId = dig(listed, 'result.data.0.processId') ?? '1'
      await client.ask('thread/backgroundTerminals/terminate', { threadId, processId })
      await client.ask('thread/backgroundTerminals/terminate', { threadId, processId: '424242' })
      await client.quiet(400)
      await client.ask('thread/backgroundTerminals/clean', { threadId })
      await client.quiet(400)
      await client.ask('thread/backgroundTerminals/list', { threadId })
    },
  },
  {
    name: 'turn-empty-input',
    about: 'A turn without input, and one with too much of it.',
    script: [{ say: ['a'] }, { say: ['b'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.ask('turn/start', { threadId, input: [] })
      await client.until('turn/completed')
      await client.quiet()
      const input = text('y'.repeat(1_048_577))
      await client.ask('turn/start', { threadId, input }, { id: 777, unrecorded: true })
      await client.quiet()
    },
  },
  {
    name: 'turn-overrides',
    about: 'Every override of a turn, pictures and mentions, and overrides that are refused.',
    script: [{ say: ['{"a":1}'] }, { say: ['b'] }, { say: ['c'] }],
    setting: { files: { 'p.png': Buffer.from(PIXEL, 'base64') } },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'hi', {
        model: 'gpt-5.5',
        effort: 'low',
        summary: 'concise',
        approvalPolicy: 'on-request',
        sandboxPolicy: {
          type: 'workspaceWrite',
          writableRoots: [stage.cwd],
          networkAccess: false,
          excludeTmpdirEnvVar: false,
          excludeSlashTmp: false,
        },
        personality: 'friendly',
        outputSchema: SCHEMA,
      })
      await client.quiet()
      const input = [
        { type: 'text', text: 'look', text_elements: [{ byteRange: { start: 0, end: 4 }, placeholder: '@x' }] },
        { type: 'image', url: `data:image/png;base64,${PIXEL}` },
        { type: 'localImage', path: `${stage.cwd}/p.png` },
        { type: 'mention', name: 'x', path: 'app://x' },
      ]
      const started = await client.ask('turn/start', { threadId, input })
      await client.until(message => endsTurn(message, digText(started, 'result.turn.id')))
      await client.quiet()
      await client.ask('turn/start', { threadId, input: text('x'), sandboxPolicy: { type: 'bogus' } })
      await client.ask('turn/start', { threadId, input: text('x'), effort: 'bogus' })
      await client.until('turn/completed', { from: client.mark() })
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'compact-manual',
    about: 'Compaction on request, and a steer during it.',
    script: [{ say: ['a'] }, { say: ['SUMMARY'], gateAfter: 'g' }, { say: ['b'] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'hi')
      await client.quiet()
      const from = client.mark()
      await client.ask('thread/compact/start', { threadId })
      const started = await client.until('turn/started', { from })
      await stage.model.untilRequests(2)
      const expectedTurnId = digText(started, 'params.turn.id')
      await client.ask('turn/steer', { threadId, expectedTurnId, input: text('x') })
      stage.model.release('g')
      await client.until('turn/completed', { from })
      await client.quiet()
      await stage.turn(client, threadId, 'after')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'compact-auto',
    about: 'Compaction by itself when the context is full.',
    script: [
      { say: ['a'], usage: { input_tokens: 900, output_tokens: 10, total_tokens: 910 } },
      { say: ['SUMMARY'] },
      { say: ['b'] },
    ],
    setting: { top: 'model_auto_compact_token_limit = 500' },
    async run(stage) {
      const [client, threadId] = await begin(stage)
      for (const said of ['hi', 'again']) {
        await stage.turn(client, threadId, said)
        await client.quiet()
      }
    },
  },
  {
    name: 'shell-command',
    about: "A person's own command: idle, in mid-turn, and a blank one.",
    script: [{ say: ['one ', 'two'], gateAfter: 'g' }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      const from = client.mark()
      await client.ask('thread/shellCommand', { threadId, command: 'echo user' })
      await client.until('turn/completed', { from })
      await client.quiet()
      await client.ask('thread/shellCommand', { threadId, command: '  ' })
      await client.ask('turn/start', { threadId, input: text('go') })
      await client.until('item/agentMessage/delta')
      await client.ask('thread/shellCommand', { threadId, command: 'echo mid; exit 2' })
      const done = item('completed', 'commandExecution')
      await client.until(message => done(message) && dig(message, 'params.item.exitCode') === 2)
      stage.model.release('g')
      await client.quiet(500)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
  {
    name: 'review',
    about: 'A review in the thread and one of its own.',
    script: [{ say: [JSON.stringify(reviewOf('incorrect'))] }, { say: [JSON.stringify(reviewOf('correct'))] }],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.ask('review/start', { threadId, target: { type: 'custom', instructions: '  ' } })
      await client.ask('review/start', { threadId, target: { type: 'baseBranch', branch: '' } })
      await client.ask('review/start', { threadId, target: { type: 'custom', instructions: 'Check it' } })
      await client.until('turn/completed')
      await client.quiet(500)
      const from = client.mark()
      const target = { type: 'commit', sha: 'abcdef1234567', title: 'My commit' }
      await client.ask('review/start', { threadId, target, delivery: 'detached' })
      await client.untilOrNull('turn/completed', { from, timeoutMs: 8000 })
      await client.quiet(500)
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  },
]

/** What a reviewing model answers. */
function reviewOf(verdict: 'correct' | 'incorrect'): object {
  if (verdict === 'correct') {
    return {
      findings: [],
      overall_correctness: 'patch is correct',
      overall_explanation: 'fine',
      overall_confidence_score: 1,
    }
  }
  const code_location = { absolute_file_path: '/x/a.txt', line_range: { start: 1, end: 2 } }
  return {
    findings: [{ title: 'Bug', body: 'It is bad', confidence_score: 0.9, priority: 1, code_location }],
    overall_correctness: 'patch is incorrect',
    overall_explanation: 'Because',
    overall_confidence_score: 0.8,
  }
}
