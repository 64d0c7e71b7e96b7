import type { IncomingMessage, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** A refusal or a short answer in plain text. */
export interface Verdict {
  readonly status: number
  readonly text: string
}

/** What a listener lets in. */
export interface Policy {
  /** Whether a `Host` header (lower case) names this listener. */
  readonly host: (host: string) => boolean
  /** Null, or why the `Authorization` headers are not enough. */
  readonly authorize: (headers: readonly string[]) => string | null
  /** No longer ready: probes say so and upgrades are refused. */
  readonly draining: () => boolean
}

const PROBES = new Set(['/readyz', '/healthz'])

/**
 * Refuses whatever a web page could have sent, on every path: browsers name their page in `Origin` or `Sec-Fetch-*`, and a
 * name rebound to this address shows in `Host`. Null where nothing speaks against the request.
 */
export function refuseBrowsers({ headersDistinct: headers }: IncomingMessage, policy: Policy): Verdict | null {
  const [host, ...more] = headers.host ?? []
  const fromPage = headers.origin !== undefined || Object.keys(headers).some(name => name.startsWith('sec-fetch-'))
  if (fromPage || host === undefined || more.length > 0 || !policy.host(host.toLowerCase()))
    return { status: 403, text: '' }
  return null
}

/** What a request that is no upgrade is told. Probes need no token and give nothing away. */
export function answerPlain(request: IncomingMessage, policy: Policy): Verdict {
  const refusal = refuseBrowsers(request, policy)
  if (refusal) return refusal
  if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, text: 'Method Not Allowed\n' }
  if (!PROBES.has(pathOf(request))) return { status: 400, text: "Connection header did not include 'upgrade'" }
  return policy.draining() ? { status: 503, text: 'draining\n' } : { status: 200, text: 'ok\n' }
}

/** Why an upgrade is refused, or null. Says nothing about tokens to a browser. */
export function refuseUpgrade(request: IncomingMessage, policy: Policy): Verdict | null {
  const refusal = refuseBrowsers(request, policy)
  if (refusal) return refusal
  if (policy.draining()) return { status: 503, text: 'draining\n' }
  const reason = policy.authorize(request.headersDistinct.authorization ?? [])
  return reason === null ? null : { status: 401, text: reason }
}

/** The path a request asks for, without its query. */
export const pathOf = (request: IncomingMessage): string => (request.url ?? '/').split('?', 1)[0] || '/'

/** Answers a request and ends its connection: nobody has a second question. */
export function respond(response: ServerResponse, verdict: Verdict): void {
  response.writeHead(verdict.status, headersOf(verdict))
  response.end(verdict.text)
}

/** The same, where node has already given the socket away for an upgrade. */
export function respondRaw(socket: Duplex, verdict: Verdict): void {
  const head = [`HTTP/1.1 ${verdict.status} ${STATUS_CODES[verdict.status]}`]
  for (const [name, value] of Object.entries(headersOf(verdict))) head.push(`${name}: ${value}`)
  socket.once('finish', () => socket.destroy())
  socket.end(`${head.join('\r\n')}\r\n\r\n${verdict.text}`)
}

function headersOf({ status, text }: Verdict): Record<string, string> {
  return {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(text)),
    'Cache-Control': 'no-store',
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
    Connection: 'close',
  }
}
