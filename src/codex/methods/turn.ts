import { isUuid } from '../../base/ids.ts'
import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { TurnInput } from '../../engine/thread.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import { INTERNAL_ERROR, RpcError } from '../../rpc/error.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { readChange, readInput } from '../input.ts'
import { toTurn } from '../threads.ts'

/** turn/* and the person's own commands. None of them waits for anything: interrupts and steers must never queue behind a turn. */
export const turnMethods = (engine: Engine) =>
  ({
    'turn/start': {
      lane: 'none',
      handle(params, { afterReply }) {
        if (!isUuid(params.threadId)) throw new RpcError(INTERNAL_ERROR, `Thread not found: ${params.threadId}`)
        const thread = engine.threads.require(params.threadId)
        const { changes, warning } = engine.changesOf(thread, readChange(params))
        const { turn, begin } = thread.startTurn({
          input: readInput(params.input),
          clientId: params.clientUserMessageId ?? null,
          outputSchema: params.outputSchema ?? null,
          overrides: changes,
        })
        afterReply(() => {
          if (warning) thread.warnOnce(warning)
          begin()
        })
        return { turn: toTurn(turn) }
      },
    },

    'turn/steer': {
      lane: 'none',
      handle(params) {
        const thread = engine.threads.require(params.threadId)
        const input: TurnInput = { input: readInput(params.input), clientId: params.clientUserMessageId ?? null }
        return { turnId: thread.steer(params.expectedTurnId, input) }
      },
    },

    'thread/shellCommand': {
      lane: 'none',
      handle({ threadId, command }, { afterReply }) {
        const thread = engine.threads.require(threadId)
        if (command.trim() === '') throw new EngineError('inputEmpty', 'command must not be empty')
        afterReply(() => engine.runUserCommand(thread, command))
        return {}
      },
    },

    'turn/interrupt': {
      lane: 'none',
      handle({ threadId, turnId }, { afterReply }) {
        const interrupt = engine.threads.require(threadId).interrupting(turnId)
        if (interrupt) afterReply(interrupt)
        return {}
      },
    },
  }) satisfies Methods<ClientRequests, Call>
