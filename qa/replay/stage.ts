import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Backend, OpenBackend } from '../kit/backend.ts'
import { type Exit, within } from '../kit/child.ts'
import { type InProcessServer, memoryLink, type StartInProcess } from '../kit/in-process.ts'
import { type Link, type Transport, tapped } from '../kit/link.ts'
import { environment, makePlace, type Place, writeInto } from '../kit/place.ts'
import { isCodex, Server, type ServerCommand } from '../kit/server.ts'
import type { Witness } from '../kit/witness.ts'
import type { Setup } from './story.ts'

/** What stories are played on. */
export interface Theatre {
  /** Folder of the whole run. */
  readonly root: string
  readonly command: ServerCommand
  /** Notifications that no story wants to see. */
  readonly ignore: readonly string[]
  readonly backend: OpenBackend
  /** Starts Skein in this process; null where the command is another server. */
  readonly inProcess: StartInProcess | null
  readonly witness: Witness | null
}

/** The server of one story on one transport: where it runs and how a client reaches it. */
export class Stage {
  readonly place: Place
  readonly transport: Transport
  readonly #theatre: Theatre
  readonly #setup: Setup
  #server: Server | InProcessServer | null = null

  constructor(theatre: Theatre, setup: Setup, transport: Transport, name: string) {
    this.#theatre = theatre
    this.#setup = setup
    this.transport = transport
    this.place = makePlace(theatre.root, `${name}-${transport}`)
    this.#furnish()
  }

  get model(): Backend {
    return this.#setup.offline ? 'offline' : this.#theatre.backend.kind
  }

  /** A new connection; starts the server when there is none. */
  async connect(): Promise<Link> {
    this.#server ??= await this.#startServer()
    const server = this.#server
    const link = server instanceof Server ? await server.connect() : memoryLink(await server.connect())
    return this.#theatre.witness ? tapped(link, this.#theatre.witness.tap()) : link
  }

  /** Waits for the server's own end and gives its exit code; null when it lives on or has no process. */
  async exitCode(ms: number): Promise<number | null> {
    if (!(this.#server instanceof Server)) return null
    return (await within(ms, this.#server.exited, null))?.code ?? null
  }

  /** Ends the server; the next connection starts another one on the same home. Gives how it ended, null without a process. */
  async stop(): Promise<Exit | null> {
    const server = this.#server
    this.#server = null
    if (server instanceof Server) return server.stop()
    await server?.stop()
    return null
  }

  get lastWords(): string {
    return this.#server instanceof Server ? this.#server.lastWords : ''
  }

  #furnish(): void {
    for (const [path, content] of this.#setup.files) writeInto(this.place.cwd, path, content)
    // A top-level key must stand before the first table, and a backend may bring tables.
    const config = join(this.place.state, 'config.toml')
    if (this.#setup.config.length > 0) appendFileSync(config, `${this.#setup.config.join('\n')}\n`, { mode: 0o600 })
    if (!this.#setup.offline) this.#theatre.backend.configure(this.place)
  }

  async #startServer(): Promise<Server | InProcessServer> {
    const { command, inProcess } = this.#theatre
    const { place } = this
    const { args } = this.#setup
    switch (this.transport) {
      case 'memory':
        if (inProcess === null) throw new Error('there is no in-process server')
        return inProcess({ home: place.state, cwd: place.cwd, env: environment(place), args })
      case 'stdio':
        return Server.stdio({ command, place, args })
      case 'ws':
        return Server.ws({ command, place, args }, authOff(command))
      case 'unix':
        return Server.unix({ command, place, args })
      default:
        return this.transport satisfies never
    }
  }
}

/** Skein wants a token on every ws listener unless told otherwise; the real codex wants none and has no such word. */
const authOff = (command: ServerCommand): readonly string[] => (isCodex(command) ? [] : ['--ws-auth', 'off'])
