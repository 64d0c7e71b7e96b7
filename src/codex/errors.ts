import { isUuid } from '../base/ids.ts'
import { EngineError, type EngineErrorCode } from '../engine/errors.ts'
import type { TurnError as EngineTurnError, TurnErrorKind } from '../engine/events.ts'
import type { CodexErrorInfo, TurnError } from '../protocol/codex/types.gen.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError } from '../rpc/error.ts'

/** Numbers stand only here. Most of codex's refusals are -32600, and clients compare them. */
const CODES: Readonly<Record<EngineErrorCode, number>> = {
  threadIdInvalid: INVALID_REQUEST,
  threadNotFound: INVALID_REQUEST,
  threadNotLoaded: INVALID_REQUEST,
  logNotFound: INVALID_REQUEST,
  threadNotMaterialized: INVALID_REQUEST,
  ephemeralThread: INVALID_REQUEST,
  threadArchived: INVALID_REQUEST,
  turnInProgress: INVALID_REQUEST,
  turnNotFound: INVALID_REQUEST,
  noActiveTurn: INVALID_REQUEST,
  turnMismatch: INVALID_REQUEST,
  turnNotSteerable: INVALID_REQUEST,
  inputEmpty: INVALID_REQUEST,
  inputTooLarge: INVALID_PARAMS,
  invalidCursor: INVALID_REQUEST,
  invalidParams: INVALID_REQUEST,
  configInvalid: INVALID_REQUEST,
  configConflict: INVALID_REQUEST,
  configReadonly: INVALID_REQUEST,
  lockedElsewhere: INVALID_REQUEST,
  shuttingDown: INVALID_REQUEST,
  storage: INTERNAL_ERROR,
}

/** Engine facts that codex clients would take for an answer's own fields are kept out of `data` unless codex sends them. */
const WITH_DATA: ReadonlySet<EngineErrorCode> = new Set([
  'inputTooLarge',
  'turnMismatch',
  'turnNotSteerable',
  'configInvalid',
  'configConflict',
  'configReadonly',
])

/** What a codex client sees of anything that was thrown. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error
  if (!(error instanceof EngineError)) {
    return new RpcError(INTERNAL_ERROR, error instanceof Error ? error.message : String(error))
  }
  const message = error.code === 'threadIdInvalid' ? invalidId(error.message, 'thread') : error.message
  return new RpcError(CODES[error.code], message, WITH_DATA.has(error.code) ? error.data : undefined)
}

/** Why a write to the configuration was refused, in codex's words: clients tell a conflict by them. */
const CONFIG_WRITE_CODES: Partial<Readonly<Record<EngineErrorCode, string>>> = {
  configInvalid: 'configValidationError',
  configConflict: 'configVersionConflict',
  configReadonly: 'configLayerReadonly',
}

/** What a codex client sees of a configuration that was not written. */
export function toConfigWriteError(error: unknown): RpcError {
  const seen = toRpcError(error)
  const code = error instanceof EngineError ? CONFIG_WRITE_CODES[error.code] : undefined
  return code ? new RpcError(seen.code, seen.message, { config_write_error_code: code }) : seen
}

/**
 * Codex's words for an id that is no UUID: where its parser stopped. `noun` is `thread`, or `session` for resume, fork,
 * archive and unarchive.
 */
export function invalidId(id: string, noun: 'thread' | 'session'): string {
  return `invalid ${noun} id: ${uuidFault(id)}`
}

/** Refuses an id that is no UUID in the words of resume, fork, archive and unarchive. */
export function checkSessionId(id: string): void {
  if (!isUuid(id)) throw new RpcError(INVALID_REQUEST, invalidId(id, 'session'))
}

function uuidFault(id: string): string {
  const at = [...id].findIndex(c => !/[0-9a-fA-F-]/.test(c))
  if (at >= 0) {
    const found = [...id][at]
    return `invalid character: expected an optional prefix of \`urn:uuid:\` followed by [0-9a-fA-F-], found \`${found}\` at ${at + 1}`
  }
  const groups = id.split('-')
  if (groups.length === 1 || groups.length === 5) {
    return `invalid length: expected length 32 for simple format, found ${id.length}`
  }
  return `invalid group count: expected 5, found ${groups.length}`
}

/** Only members both pins know: an older client drops a notification it cannot parse. */
const KINDS: Readonly<Record<TurnErrorKind, (status: number | null) => CodexErrorInfo>> = {
  contextWindowExceeded: () => 'contextWindowExceeded',
  usageLimitExceeded: () => 'usageLimitExceeded',
  serverOverloaded: () => 'serverOverloaded',
  connectionFailed: httpStatusCode => ({ httpConnectionFailed: { httpStatusCode } }),
  streamDisconnected: httpStatusCode => ({ responseStreamDisconnected: { httpStatusCode } }),
  tooManyAttempts: httpStatusCode => ({ responseTooManyFailedAttempts: { httpStatusCode } }),
  internalServerError: () => 'internalServerError',
  unauthorized: () => 'unauthorized',
  badRequest: () => 'badRequest',
  sandbox: () => 'sandboxError',
  notSteerable: () => 'other',
  other: () => 'other',
}

export function toTurnError(error: EngineTurnError): TurnError {
  return {
    message: error.message,
    codexErrorInfo: KINDS[error.kind](error.status),
    additionalDetails: error.details,
    misalignment: null,
  }
}
