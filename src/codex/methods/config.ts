import type { Json } from '../../base/json.ts'
import type { Engine } from '../../engine/engine.ts'
import { EngineError } from '../../engine/errors.ts'
import type { ConfigWrite } from '../../engine/settings/edits.ts'
import type { ClientRequests } from '../../protocol/codex/methods.gen.ts'
import type { ConfigWriteResponse } from '../../protocol/codex/types.gen.ts'
import { INTERNAL_ERROR, RpcError } from '../../rpc/error.ts'
import type { Methods } from '../../rpc/methods.ts'
import type { Call } from '../../server/dialect.ts'
import { toConfigRead, toConfigWrite } from '../config.ts'
import { toConfigWriteError } from '../errors.ts'

/** config/*: reading what counts and writing the user's own file. */
export const configMethods = ({ settings }: Engine) => {
  const write = async (edits: ConfigWrite): Promise<ConfigWriteResponse> => {
    try {
      return toConfigWrite(await settings.write(edits))
    } catch (error) {
      throw toConfigWriteError(error)
    }
  }
  return {
    'config/read': {
      lane: 'none',
      handle({ cwd, includeLayers }) {
        try {
          return toConfigRead(settings.read({ cwd: cwd ?? null, includeLayers: includeLayers ?? false }))
        } catch (error) {
          // A file that cannot be read is the server's trouble here, not the request's.
          if (error instanceof EngineError) throw new RpcError(INTERNAL_ERROR, error.message)
          throw error
        }
      },
    },

    'configRequirements/read': {
      lane: 'none',
      handle: () => ({ requirements: null, supportsIndependentSpeedModes: false }),
    },

    'config/value/write': {
      lane: () => 'config',
      async handle({ keyPath, value, mergeStrategy, filePath, expectedVersion }) {
        const edits = [{ keyPath, value: value as Json, mergeStrategy }]
        const where = { filePath: filePath ?? null, expectedVersion: expectedVersion ?? null }
        return write({ edits, ...where })
      },
    },

    'config/batchWrite': {
      lane: () => 'config',
      async handle({ edits, filePath, expectedVersion }) {
        const where = { filePath: filePath ?? null, expectedVersion: expectedVersion ?? null }
        const changes = edits.map(edit => ({ ...edit, value: edit.value as Json }))
        return write({ edits: changes, ...where })
      },
    },
  } satisfies Methods<ClientRequests, Call>
}
