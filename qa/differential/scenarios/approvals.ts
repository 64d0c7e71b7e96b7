import { command, type Scenario, text } from '../scenario.ts'
import { begin } from './turns.ts'

const COMMAND = 'item/commandExecution/requestApproval'
const PATCH = 'item/fileChange/requestApproval'
const ASKING = { approval: 'untrusted', sandbox: 'workspace-write' }

const ADD = '*** Begin Patch\n*** Add File: new.txt\n+hello\n+world\n*** End Patch\n'
const UPDATE = '*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n two\n*** End Patch\n'
const AMENDMENT = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ['touch', 'made.txt'] } }

/** A command that asks, answered with `decision`; with `twice` the same command again in a second turn. */
function approving(name: string, about: string, decision: unknown, twice = false): Scenario {
  const touch = command('touch made.txt && echo made')
  return {
    name,
    about,
    script: [touch, { say: ['all ', 'done'] }, touch, { say: ['again'] }],
    setting: ASKING,
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply(COMMAND, () => ({ decision }))
      const threadId = await stage.thread(client)
      await stage.turn(client, threadId, 'run it')
      if (twice) await stage.turn(client, threadId, 'run it again')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  }
}

/** A patch that asks, answered with `decision`; with `twice` another file in a second turn. */
function patching(name: string, about: string, decision: string, more: { twice?: true; free?: true } = {}): Scenario {
  return {
    name,
    about,
    script: [
      { custom: { name: 'apply_patch', input: ADD } },
      { say: ['patched'] },
      { custom: { name: 'apply_patch', input: UPDATE } },
      { say: ['patched again'] },
    ],
    setting: { ...(more.free ? {} : ASKING), files: { 'a.txt': 'one\ntwo\n' } },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply(PATCH, () => ({ decision }))
      const threadId = await stage.thread(client)
      await stage.turn(client, threadId, 'patch it')
      if (more.twice) await stage.turn(client, threadId, 'patch again')
      await client.quiet()
      await client.ask('thread/read', { threadId, includeTurns: true })
    },
  }
}

/** Commands and patches that ask, and every kind of answer. */
export const approvals: readonly Scenario[] = [
  approving('approval-accept', 'Accepted.', 'accept'),
  approving(
    'approval-accept-session',
    'Accepted for the session: the next turn does not ask.',
    'acceptForSession',
    true,
  ),
  approving('approval-decline', 'Declined: the turn goes on.', 'decline'),
  approving('approval-cancel', 'Cancelled: the turn is interrupted.', 'cancel'),
  approving('approval-amendment', 'Accepted with its prefix: the next turn does not ask.', AMENDMENT, true),
  approving('approval-bad-decision', 'Answered with a word nobody knows.', 'sure'),
  {
    name: 'approval-error-response',
    about: 'Answered with an error.',
    script: [command('touch x'), { say: ['fin'] }],
    setting: ASKING,
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await client.ask('turn/start', { threadId, input: text('go') })
      client.refuse(await client.until(COMMAND), -32000, 'no ui')
      await client.until('turn/completed')
      await client.quiet()
    },
  },
  {
    name: 'approval-escalation',
    about: 'The model itself asks to leave the sandbox.',
    script: [
      command('touch ../outside.txt', {
        sandbox_permissions: 'require_escalated',
        justification: 'Need to write outside',
        prefix_rule: ['touch'],
      }),
      { say: ['fin'] },
    ],
    setting: { approval: 'on-request', sandbox: 'workspace-write' },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply(COMMAND, () => ({ decision: 'accept' }))
      await stage.turn(client, await stage.thread(client), 'go')
      await client.quiet()
    },
  },
  {
    name: 'permissions-request',
    about: 'The model asks for the network, for one turn.',
    script: [
      {
        calls: [
          { name: 'request_permissions', args: { reason: 'need net', permissions: { network: { enabled: true } } } },
        ],
      },
      { say: ['granted'] },
    ],
    setting: {
      approval: 'on-request',
      sandbox: 'workspace-write',
      features: 'request_permissions_tool = true\nexec_permission_approvals = true',
    },
    async run(stage) {
      const client = await stage.stdio()
      await client.initialize()
      client.reply('item/permissions/requestApproval', ({ params }) => {
        return { permissions: (params as { permissions?: unknown }).permissions, scope: 'turn' }
      })
      await stage.turn(client, await stage.thread(client), 'go')
      await client.quiet()
    },
  },
  patching('patch-never', 'Nothing asks: an added and an updated file, and the diff of the turn.', 'accept', {
    twice: true,
    free: true,
  }),
  patching('patch-accept', 'Accepted.', 'accept'),
  patching('patch-accept-session', 'Accepted for the session; another file asks again.', 'acceptForSession', {
    twice: true,
  }),
  patching('patch-decline', 'Declined.', 'decline'),
  patching('patch-cancel', 'Cancelled.', 'cancel'),
  {
    name: 'patch-bad',
    about: 'A patch that does not apply and one that is none.',
    script: [
      { custom: { name: 'apply_patch', input: UPDATE } },
      { custom: { name: 'apply_patch', input: 'garbage' } },
      { say: ['sorry'] },
    ],
    async run(stage) {
      const [client, threadId] = await begin(stage)
      await stage.turn(client, threadId, 'go')
      await client.quiet()
    },
  },
]
