import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { RemoteControl } from '../remote-control.ts'

/**
 * Fixed honest answers: what clients ask for at start and Skein has none of. An empty list says so; an error would cost the
 * client a red line, or its life.
 */
export const stubMethods = (remote: RemoteControl) =>
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
    'thread/goal/get': { handle: () => ({ goal: null }) },
  }) satisfies Methods<ClientRequests, Call>
