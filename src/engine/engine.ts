import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/log.ts'
import { absolute } from '../base/paths.ts'
import { Desk } from './desk.ts'
import { EngineError } from './errors.ts'
import type { EngineEvent, ThreadSettings } from './events.ts'
import type { ListedModel } from './models/listing.ts'
import { Models } from './models/models.ts'
import { preparer } from './prepare.ts'
import type { Settings } from './settings/config.ts'
import { instructionsFor } from './settings/instructions.ts'
import type { Scope, SettingsSource } from './settings/settings.ts'
import { realDisk } from './store/disk.ts'
import type { Entry } from './store/records.ts'
import { Store } from './store/store.ts'
import type { Thread } from './thread.ts'
import { initialSettings, type SettingsChange, settingsAfter } from './thread-settings.ts'
import { type ForkThread, type StartThread, Threads } from './threads.ts'
import type { ClientTool } from './tools/client-tool-specs.ts'
import type { ToolHost } from './tools/host.ts'
import { Processes, stopOrphans } from './tools/processes.ts'
import { Shell } from './tools/shell.ts'
import { userShell } from './user-shell.ts'

/** Codex unloads a thread that nobody follows and nothing happens in after this time, in milliseconds. */
const UNLOAD_MS = 30 * 60_000

export interface EngineOptions {
  readonly home: string
  /** The server's own folder: where threads start that do not say where. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly now: Clock
  readonly settings: SettingsSource
  readonly log: Logger
  /** For files that tools and commands make: the user's, where the server's own is stricter. */
  readonly umask: number
  /** Milliseconds after which an idle thread that nobody follows leaves memory; default 30 minutes. */
  readonly unloadMs?: number
  /** Hears every event, synchronously. */
  readonly emit: (event: EngineEvent) => void
}

export interface ThreadParams {
  readonly cwd: string | null
  readonly workspaceRoots: readonly string[] | null
  /** Configuration for this thread alone, in codex's key names. */
  readonly overrides: JsonObject
  readonly ephemeral: boolean
  readonly threadSource: string | null
  readonly clientTools: readonly ClientTool[]
  readonly originator: string | null
  readonly cliVersion: string
}

/** A thread to be forked, and what shall be different in the fork. */
export interface ForkParams
  extends Pick<
    ForkThread,
    'sourceId' | 'lastTurnId' | 'beforeTurnId' | 'ephemeral' | 'threadSource' | 'originator' | 'cliVersion'
  > {
  readonly change: SettingsChange
  /** Configuration over the source's. */
  readonly overrides: JsonObject
}

/** The agent core behind every dialect: threads, models, tools, approvals. It knows no wire. */
export class Engine {
  readonly threads: Threads
  readonly desk: Desk
  readonly models: Models
  readonly settings: SettingsSource
  readonly emit: (event: EngineEvent) => void
  readonly now: Clock
  readonly #options: EngineOptions
  readonly #attended = new Set<string>()
  readonly #store: Store
  readonly host: ToolHost

  constructor(options: EngineOptions) {
    const { emit, now, settings, log, env } = options
    this.#options = options
    this.settings = settings
    this.emit = emit
    this.now = now
    this.models = new Models(env)
    this.desk = new Desk({
      emit,
      changed: threadId => this.threads.loaded(threadId)?.refreshStatus(),
      unattendedMs: () => settings.server().unattendedMs,
    })
    const processes = new Processes(options.umask)
    const shell = new Shell(processes, env)
    // What a server that died left running is nobody's any more.
    void stopOrphans()
    this.host = { processes, shell, umask: options.umask, tmpdir: env.TMPDIR || tmpdir() }
    const durable = (): boolean => settings.server().durability === 'full'
    this.#store = new Store({ disk: realDisk, root: join(options.home, 'sessions'), now, durable })
    this.#store.warm()
    this.threads = new Threads({
      now,
      unloadMs: options.unloadMs ?? UNLOAD_MS,
      attended: threadId => this.#attended.has(threadId),
      services: {
        store: this.#store,
        now,
        desk: this.desk,
        emit,
        prepare: preparer({ home: options.home, models: this.models, settings, env, now, host: this.host }),
        warn: message => log.warn(message),
      },
    })
  }

  /** Makes a thread; nothing of it is on disk until something is said in it. */
  startThread(params: ThreadParams): { readonly thread: Thread; readonly warnings: readonly string[] } {
    const { start, warnings } = this.#startOf(params)
    return { thread: this.threads.start(start), warnings }
  }

  #startOf(params: ThreadParams): { readonly start: StartThread; readonly warnings: readonly string[] } {
    const { cwd: home, now } = this.#options
    const cwd = absolute(params.cwd ?? firstExisting(params.workspaceRoots) ?? home, home)
    const settings = this.#resolve({ cwd, overrides: params.overrides })
    const choice = this.models.choose(settings, { name: settings.model, provider: settings.modelProvider })
    const start = {
      settings: initialSettings(settings, choice, { cwd, workspaceRoots: params.workspaceRoots }),
      config: params.overrides,
      ephemeral: params.ephemeral,
      clientTools: params.clientTools,
      threadSource: params.threadSource,
      originator: params.originator,
      cliVersion: params.cliVersion,
      gitInfo: null,
      createdAt: now(),
    }
    return { start, warnings: [...settings.notices, ...(choice.warning ? [choice.warning] : [])] }
  }

  /** What a change would mean for a thread with these settings. */
  changesOf(
    thread: Thread,
    change: SettingsChange,
  ): { readonly changes: Partial<ThreadSettings>; readonly warning: string | null } {
    const settings = this.#resolve(thread.scope)
    return settingsAfter(thread.settings, change, (name, provider) => this.models.choose(settings, { name, provider }))
  }

  /** Runs a command that a person typed, beside the running turn or as a turn of its own. */
  runUserCommand(thread: Thread, command: string): void {
    const { now } = this.#options
    thread.runTask(userShell({ command, cwd: thread.settings.cwd, host: this.host, now }))
  }

  /** What is wrong with the configuration right now. */
  configWarnings(): readonly EngineEvent[] {
    return this.settings.warnings().map(warning => ({ type: 'config.warning', warning }))
  }

  /** Files whose text a thread gives its model as instructions. */
  instructionSources({ scope }: Thread): readonly string[] {
    return instructionsFor(this.#resolve(scope), { home: this.#options.home, cwd: scope.cwd }).sources
  }

  /** What a picker shows, for threads that start in the server's own folder. */
  listModels(): readonly ListedModel[] {
    return this.models.list(this.#resolve({ cwd: this.#options.cwd }))
  }

  /** The model that runs when nobody names one, and why. */
  defaultModel(): { readonly name: string; readonly why: string } {
    const { info, reason } = this.models.default(this.#resolve({ cwd: this.#options.cwd }))
    return { name: info.id, why: reason }
  }

  /** Names a thread, in memory or not. What it resolves with tells everybody. */
  async rename(threadId: string, name: string): Promise<() => void> {
    const { id } = await this.threads.note(threadId, { t: 'name', name })
    return () => this.emit({ type: 'thread.named', threadId: id, name })
  }

  /**
   * Makes a thread that goes on where another one is or was, with these changes of its settings. Rejects when the source has
   * no log.
   */
  async forkThread(params: ForkParams): Promise<{ readonly thread: Thread; readonly warning: string | null }> {
    const source = this.threads.saved(params.sourceId)
    const config = { ...source.config, ...params.overrides }
    const settings = this.#resolve({ cwd: source.settings.cwd, overrides: config })
    const { changes, warning } = settingsAfter(source.settings, params.change, (name, provider) =>
      this.models.choose(settings, { name, provider }),
    )
    const thread = await this.threads.fork({
      ...params,
      settings: { ...source.settings, ...changes },
      config,
      clientTools: source.clientTools,
      gitInfo: null,
      createdAt: this.#options.now(),
    })
    return { thread, warning }
  }

  /** Makes a thread with a past that its client brought along. */
  async startWith(params: ThreadParams, entries: readonly Entry[]): Promise<Thread> {
    return this.threads.startWith(this.#startOf(params).start, entries)
  }

  /** Hears from outside whether anybody follows a thread. */
  attend(threadId: string, attended: boolean): void {
    if (attended) this.#attended.add(threadId)
    else this.#attended.delete(threadId)
    this.desk.attend(threadId, attended)
    if (attended) this.threads.loaded(threadId)?.heard()
    this.threads.rest(threadId)
  }

  /** Interrupts every turn and waits until each has its durable end, at most `ms`. */
  async stop(ms: number): Promise<void> {
    await this.threads.stop(ms)
    this.#store.close()
    await this.host.processes.close()
  }

  #resolve(scope: Scope): Settings {
    try {
      return this.settings.resolve(scope)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      throw new EngineError(error.code, `failed to load configuration: ${error.message}`, error.data)
    }
  }
}

/**
 * A client that names no folder but a workspace root means that root, when it is a folder of this machine: a TUI started in
 * a repository wants to work there.
 */
function firstExisting(roots: readonly string[] | null): string | null {
  return roots?.find(root => existsSync(root)) ?? null
}
