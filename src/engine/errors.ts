/** Everything the engine refuses, by one word each. A dialect has a table from these to its own codes and texts. */
export type EngineErrorCode =
  | 'threadIdInvalid'
  | 'threadNotFound'
  | 'threadNotLoaded'
  | 'logNotFound'
  | 'threadNotMaterialized'
  | 'ephemeralThread'
  | 'threadArchived'
  | 'turnInProgress'
  | 'turnNotFound'
  | 'noActiveTurn'
  | 'turnMismatch'
  | 'turnNotSteerable'
  | 'inputEmpty'
  | 'inputTooLarge'
  | 'invalidCursor'
  | 'invalidParams'
  | 'configInvalid'
  | 'configConflict'
  | 'configReadonly'
  | 'lockedElsewhere'
  | 'shuttingDown'
  | 'storage'

/** A refusal with a reason a caller can act on. Anything else that is thrown is a bug. */
export class EngineError extends Error {
  constructor(code: EngineErrorCode, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message)
    this.name = 'EngineError'
    this.code = code
    this.data = data
  }
  readonly code: EngineErrorCode
  readonly data: Readonly<Record<string, unknown>> | undefined
}
