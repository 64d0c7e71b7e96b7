import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenBackend } from '../kit/backend.ts'
import { makePlace, type Place } from '../kit/place.ts'
import { isCodex, Server, type ServerCommand } from '../kit/server.ts'
import type { Session } from '../kit/session.ts'
import { openWs } from '../kit/ws-link.ts'
import { type ProxyOptions, WireProxy } from './proxy.ts'

/** Name of the environment variable in which clients are given the token. */
export const TOKEN_VARIABLE = 'QA_REMOTE_TOKEN'

/** How clients get in. */
export type Door = 'token' | 'open' | 'unix'

/** A server for real clients, with a proxy before it that watches and can spoil what passes. */
export interface Host {
  readonly server: Server
  readonly place: Place
  readonly proxy: WireProxy
  /** Address a client is given: the proxy's. */
  readonly url: string
  /** The server's own address, past the proxy. */
  readonly directUrl: string
  /** The token it asks for; null when the door is open. */
  readonly token: string | null
  close(): Promise<void>
}

/** Starts a server on the given model and a proxy before it; `config` are lines for the top of its config.toml. */
export async function openHost(session: Session, backend: OpenBackend, door: Door, config = ''): Promise<Host> {
  const place = makePlace(session.root, `server-${door}`)
  if (config !== '') writeFileSync(join(place.state, 'config.toml'), `${config}\n`, { mode: 0o600 })
  backend.configure(place)
  const command = session.options.server
  const start = { command, place }
  const server = door === 'unix' ? await Server.unix(start) : await Server.ws(start, auth(command, place, door))
  const token = door === 'token' ? readToken(command, place) : null
  const { witness } = session
  const options: ProxyOptions = {
    connect: ({ authorization }) => {
      const headers = authorization === undefined ? {} : { authorization }
      return openWs({ url: 'ws://localhost/', ...server.address, headers })
    },
    ...(witness ? { tap: () => witness.tap() } : {}),
  }
  const proxy = await WireProxy.start(options, door === 'unix' ? join(place.dir, 'proxy.sock') : undefined)
  return {
    server,
    place,
    proxy,
    url: proxy.url,
    directUrl: server.address?.socketPath ? `unix://${server.address.socketPath}` : `ws://127.0.0.1:${server.port}`,
    token,
    async close() {
      proxy.close()
      await server.stop()
    },
  }
}

function auth(command: ServerCommand, place: Place, door: Door): readonly string[] {
  if (!isCodex(command)) return door === 'token' ? [] : ['--ws-auth', 'off']
  if (door !== 'token') return []
  writeFileSync(codexToken(place), `${'qa-token-'.repeat(4)}\n`, { mode: 0o600 })
  return ['--ws-auth', 'capability-token', '--ws-token-file', codexToken(place)]
}

/** Skein makes its own token when there is none. */
function readToken(command: ServerCommand, place: Place): string {
  const file = isCodex(command) ? codexToken(place) : join(place.state, 'app-server', 'ws-token')
  if (!existsSync(file)) throw new Error('the server made no app-server/ws-token in its home')
  return readFileSync(file, 'utf8').trim()
}

const codexToken = (place: Place): string => join(place.dir, 'token')

/** Folders of a codex client: its own home with a configuration that asks and fetches nothing. */
export function clientPlace(session: Session, name: string, cwd: string): Place {
  const place = { ...makePlace(session.root, name), cwd }
  const trust = `[projects.${JSON.stringify(cwd)}]\ntrust_level = "trusted"\n`
  appendFileSync(join(place.state, 'config.toml'), `check_for_update_on_startup = false\n${trust}`)
  return place
}
