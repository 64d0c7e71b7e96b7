import { newId } from '../../base/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import type { TurnError } from '../../engine/events.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import { INVALID_REQUEST, RpcError } from '../../rpc/error.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { RemoteControl } from '../remote-control.ts'
import { toTurn } from '../threads.ts'

/**
 * Fixed honest answers: what clients ask for and Skein has none of. An empty list says so; an error would cost the client a
 * red line, or its life.
 */
export const stubMethods = (engine: Engine, remote: RemoteControl) =>
  ({
    'hooks/list': {
      handle: ({ cwds }) => ({ data: (cwds ?? []).map(cwd => ({ cwd, hooks: [], warnings: [], errors: [] })) }),
    },
    'skills/list': {
      handle: ({ cwds }) => ({ data: (cwds ?? []).map(cwd => ({ cwd, skills: [], errors: [] })) }),
    },
    'plugin/list': { handle: () => ({ marketplaces: [], marketplaceLoadErrors: [], featuredPluginIds: [] }) },
    'plugin/installed': { handle: () => ({ marketplaces: [], marketplaceLoadErrors: [] }) },
    'mcpServerStatus/list': { handle: () => ({ data: [], nextCursor: null }) },
    'experimentalFeature/list': { handle: () => ({ data: [], nextCursor: null }) },
    'remoteControl/status/read': { handle: () => remote.status() },
    'account/bedrock/checkGovCloudRequirements': { handle: () => ({ isGovCloud: false, shouldWarn: false }) },
    'account/rateLimits/read': {
      handle() {
        throw new RpcError(INVALID_REQUEST, 'codex account authentication required to read rate limits')
      },
    },
    'collaborationMode/list': {
      handle: () => ({
        data: [
          { name: 'Plan', mode: 'plan', model: null, reasoning_effort: 'medium' },
          { name: 'Default', mode: 'default', model: null, reasoning_effort: null },
        ],
      }),
    },
    'permissionProfile/list': {
      handle: () => ({
        data: [':read-only', ':workspace', ':danger-full-access'].map(id => ({ id, description: null, allowed: true })),
        nextCursor: null,
      }),
    },

    // Both TUIs exit on an error here, and codex-acp waits for the item: a turn that does nothing and says so.
    'thread/compact/start': {
      handle({ threadId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const { begin } = thread.startTask(async ({ items }) => {
          const item = { type: 'compaction', id: newId() } as const
          items.start(item)
          items.complete(item, { context: false })
          return failure('Nothing was compacted: this server cannot compact conversations yet.')
        })
        afterReply(begin)
        return {}
      },
    },
    'review/start': {
      handle({ threadId }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        const { turn, begin } = thread.startTask(async () => failure('Review is not available on this server yet.'))
        afterReply(begin)
        return { turn: toTurn(turn), reviewThreadId: thread.id }
      },
    },
  }) satisfies Methods<ClientRequests, Call>

const failure = (message: string): TurnError => ({ message, details: null, kind: 'other', status: null })
