import { INVALID_REQUEST, RpcError } from '../rpc/error.ts'

/**
 * Refuses what needs `experimentalApi` from a client that did not ask for it. `experimental`: the whole method, or its
 * experimental fields in declaration order. As in codex a field counts as used unless it is absent, null or false: `[]`, `{}`
 * and `""` are used.
 */
export function checkCapability(
  method: string,
  experimental: boolean | readonly string[],
  params: Readonly<Record<string, unknown>>,
): void {
  const used = experimental === true ? method : experimental && firstUsed(method, experimental, params)
  if (used) throw needed(used)
  const policy = params.approvalPolicy
  // The one experimental member of an enum; both schemas list it alike.
  if (typeof policy === 'object' && policy !== null && 'granular' in policy) throw needed('askForApproval.granular')
}

function firstUsed(
  method: string,
  fields: readonly string[],
  params: Readonly<Record<string, unknown>>,
): string | undefined {
  const field = fields.find(name => params[name] !== undefined && params[name] !== null && params[name] !== false)
  return field && `${method}.${field}`
}

const needed = (what: string): RpcError => new RpcError(INVALID_REQUEST, `${what} requires experimentalApi capability`)
