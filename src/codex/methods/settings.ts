import type { Engine } from '../../engine/engine.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { readChange } from '../input.ts'

/** thread/settings/*: changes that hold from the next turn on. */
export const settingsMethods = (engine: Engine) =>
  ({
    'thread/settings/update': {
      handle(params, { afterReply }) {
        const thread = engine.threads.require(params.threadId)
        const { changes, warning } = engine.changesOf(thread, readChange(params))
        afterReply(() => {
          thread.change(changes)
          if (warning) thread.warnOnce(warning)
        })
        return {}
      },
    },
  }) satisfies Methods<ClientRequests, Call>
