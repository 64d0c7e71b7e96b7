import type { Engine } from '../../engine/engine.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import type { ClientInfo } from '../../server/session.ts'

/**
 * Codex's TUI up to 0.142.5 opens with a sign-in screen, which leads nowhere here, when it hears of no account, even where
 * none is needed (measured; it goes by the provider in its own configuration). 0.171.0 goes by `requiresOpenaiAuth`.
 */
const needsAccount = (client: ClientInfo | null): boolean =>
  client?.name === 'codex-tui' && client.version === '0.142.5'

/** account/*: keys come from the environment, so nobody ever has to log in. */
export const accountMethods = (_engine: Engine) =>
  ({
    'account/read': {
      handle: (_params, { session }) => ({
        account: needsAccount(session.client) ? { type: 'apiKey' } : null,
        requiresOpenaiAuth: false,
        userId: null,
        workspaceRouting: null,
      }),
    },
  }) satisfies Methods<ClientRequests, Call>
