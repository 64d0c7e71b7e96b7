import type { Engine } from '../../engine/engine.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { toModel } from '../models.ts'
import { limitOf, offsetPage } from '../pages.ts'

/** model/*: what a client may choose from. */
export const modelMethods = (engine: Engine) =>
  ({
    'model/list': {
      lane: 'none',
      handle(params) {
        const all = engine.listModels().filter(model => params.includeHidden || !model.hidden)
        const page = offsetPage(
          all,
          { cursor: params.cursor ?? null, limit: limitOf(params.limit, all.length) },
          'models',
        )
        return { data: page.data.map(toModel), nextCursor: page.next }
      },
    },
  }) satisfies Methods<ClientRequests, Call>
