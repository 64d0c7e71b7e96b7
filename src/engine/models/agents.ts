import { Agent, request as httpRequest } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls, createSecureContext } from 'node:tls'

/** Milliseconds a proxy has to open its tunnel. */
const TUNNEL_MS = 15_000

const OPTIONS = { keepAlive: true, keepAliveMsecs: 30_000, maxFreeSockets: 64, scheduling: 'lifo' } as const

/** One agent per origin and proxy, kept for the process's life: a turn must not pay for a new connection. */
const agents = new Map<string, Agent>()

/** The kept-alive agent for `url`, through the proxy that `env` names for it. Throws on a proxy that is no URL. */
export function agentFor(url: URL, env: NodeJS.ProcessEnv): Agent {
  const proxy = proxyFor(url, env)
  const key = `${url.origin} ${proxy?.href ?? ''}`
  const known = agents.get(key)
  if (known) return known
  const agent = url.protocol === 'https:' ? secureAgent() : new Agent(OPTIONS)
  if (proxy) Object.assign(agent, { createConnection: tunnel(proxy, url.protocol === 'https:') })
  agents.set(key, agent)
  return agent
}

/** Closes the idle connections of `agent`: when one proved stale, its siblings are as old. */
export function dropIdle(agent: Agent): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

/** Making a TLS context costs 1-6 ms, so connections of one agent share it. */
const secureAgent = (): Agent => new SecureAgent({ ...OPTIONS, secureContext: createSecureContext() })

/**
 * The proxy for `url` from HTTP(S)_PROXY, ALL_PROXY and NO_PROXY (lower case first, as curl), or null. Loopback is
 * never proxied: no proxy could reach a model server on this machine. Throws on a proxy that is no URL.
 */
export function proxyFor(url: URL, env: NodeJS.ProcessEnv): URL | null {
  const own = url.protocol === 'https:' ? (env.https_proxy ?? env.HTTPS_PROXY) : (env.http_proxy ?? env.HTTP_PROXY)
  const value = own || env.all_proxy || env.ALL_PROXY
  if (!value || isLoopback(url) || isExempt(url, env.no_proxy ?? env.NO_PROXY ?? '')) return null
  const proxy = new URL(value.includes('://') ? value : `http://${value}`)
  if (!/^https?:$/.test(proxy.protocol)) throw new Error(`proxies of the kind ${proxy.protocol}// are not supported`)
  return proxy
}

/** Whether `url` names this machine. */
export const isLoopback = (url: URL): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)

/** Entries of NO_PROXY: `*`, `host`, `.domain`, `*.domain`, each matching subdomains, each with an optional port. */
function isExempt(url: URL, list: string): boolean {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return list
    .split(/[\s,]+/)
    .filter(Boolean)
    .some(entry => {
      const [, host = '', entryPort] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry.toLowerCase()) ?? []
      if (entry === '*') return true
      if (entryPort && entryPort !== port) return false
      return host !== '' && (url.hostname === host || url.hostname.endsWith(`.${host}`))
    })
}

type Connected = (error: Error | null, socket?: Socket) => void

/** An agent's way to connect: CONNECT at the proxy, then TLS inside the tunnel when the target wants it. */
const tunnel = (proxy: URL, secure: boolean) => (options: ConnectionOptions, done: Connected) => {
  const host = options.host ?? ''
  const target = `${host.includes(':') ? `[${host}]` : host}:${options.port ?? ''}`
  const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: target,
    agent: false,
    headers: { host: target, ...proxyAuthorization(proxy) },
    timeout: TUNNEL_MS,
  })
  request.once('connect', (answer, socket) => {
    socket.setTimeout(0)
    if (answer.statusCode === 200) return done(null, secure ? secured(socket, options) : socket)
    socket.destroy()
    done(new Error(`the proxy answered ${answer.statusCode} ${answer.statusMessage}`))
  })
  // A proxy that answers CONNECT without a tunnel sends a plain response.
  request.once('response', answer => request.destroy(new Error(`the proxy answered ${answer.statusCode}`)))
  request.once('timeout', () => request.destroy(new Error('the proxy did not answer')))
  request.once('error', error => done(error))
  request.end()
}

const secured = (socket: Socket, options: ConnectionOptions): Socket => connectTls({ ...options, socket })

function proxyAuthorization({ username, password }: URL): { 'proxy-authorization'?: string } {
  if (!username) return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}
