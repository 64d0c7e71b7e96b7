import type { Engine } from '../../engine/engine.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'

/** account/*: keys come from the environment, so nobody ever has to log in. */
export const accountMethods = (_engine: Engine) =>
  ({
    'account/read': {
      handle: () => ({ account: null, requiresOpenaiAuth: false, userId: null, workspaceRouting: null }),
    },
  }) satisfies Methods<ClientRequests, Call>
