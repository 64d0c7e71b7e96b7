import { join } from 'node:path'
import type { JsonObject } from '../../base/json.ts'
import { absolute } from '../../base/paths.ts'
import { EngineError } from '../errors.ts'
import { absolutePaths, type ServerSettings, type Settings, serverSettings, settingsOf } from './config.ts'
import { type ConfigFile, ConfigFiles } from './config-file.ts'
import { type ConfigWrite, type ConfigWritten, writeConfig } from './edits.ts'
import { type Layer, layer, merged } from './layers.ts'
import { checkEnvironment, flagLayer, profilePath, threadLayer } from './overrides.ts'
import { projectFolders, projectLayers, rootMarkers, type Trust, trustOf } from './project.ts'
import { type ConfigRead, readConfig } from './read.ts'
import { merge } from './tree.ts'
import { type ConfigWarning, faultWarning, invalidWarning, noticeWarning } from './warnings.ts'

/** What a server gives its settings when it starts. */
export interface SettingsOptions {
  /** The home folder; need not exist. */
  readonly home: string
  /** The server's own directory, for relative paths of the command line. */
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** `key=value` arguments of `-c`, in order. */
  readonly flags?: readonly string[]
  /** Name of `--profile`: `<name>.config.toml` in the home is laid over config.toml. */
  readonly profile?: string | null
  /** Ids of providers that exist without configuration; when given, a `model_provider` that is neither is refused. */
  readonly providers?: readonly string[]
}

/** A thread's directory and what its start (or resume) sets over everything else, in codex's key names. */
export interface Scope {
  readonly cwd: string
  readonly overrides?: JsonObject
}

/** The configuration of one server. Files are read again when they change, never otherwise. */
export interface SettingsSource {
  /**
   * The settings of a thread. Throws `configInvalid` with the reason when a file is broken, an override has the wrong
   * type or a provider does not exist; a mended file counts from the next call on.
   */
  resolve(scope: Scope): Settings
  /** Settings of the server itself. Never throws: a broken file counts as an empty one. */
  server(): ServerSettings
  /** What is wrong or ignored now, for the server's own directory. */
  warnings(): readonly ConfigWarning[]
  /** The configuration as a client reads it. Throws `configInvalid` when a file is broken. */
  read(request: { readonly cwd: string | null; readonly includeLayers: boolean }): ConfigRead
  /** Changes the home's config.toml; see `writeConfig`. */
  write(request: ConfigWrite): Promise<ConfigWritten>
  /** Whether the project of `cwd` is trusted. */
  trust(cwd: string): Trust
}

/**
 * Opens the configuration of a server. Throws `configInvalid` for command-line flags that are malformed or have the
 * wrong type, for a profile without file and a bad SKEIN_CODEX_VERSION; never for the state of config.toml.
 */
export function loadSettings(options: SettingsOptions): SettingsSource {
  const { home, cwd, env, flags = [], profile = null } = options
  checkEnvironment(env)
  const source = new Source(options, flagLayer(flags, cwd, env), profilePath(home, profile))
  source.requireProfile()
  return source
}

class Source implements SettingsSource {
  readonly #options: SettingsOptions
  readonly #flags: Layer | null
  readonly #profilePath: string | null
  readonly #files = new ConfigFiles()

  constructor(options: SettingsOptions, flags: Layer | null, profilePath: string | null) {
    this.#options = options
    this.#flags = flags
    this.#profilePath = profilePath
  }

  /** A profile is chosen by hand: one that is not there is a typing mistake. */
  requireProfile(): void {
    const path = this.#profilePath
    if (path !== null && this.#files.read(path).text === null) {
      throw new EngineError('configInvalid', `profile file ${path} not found`)
    }
  }

  resolve({ cwd, overrides = {} }: Scope): Settings {
    const { layers, trust } = this.#layers(cwd, overrides)
    const settings = settingsOf(layers, trust)
    this.#checkProvider(settings)
    return settings
  }

  server(): ServerSettings {
    return serverSettings(this.#said(), this.#options.env, this.#flags?.table ?? {})
  }

  warnings(): readonly ConfigWarning[] {
    const broken = this.#userFiles().find(file => file.fault)
    if (broken?.fault) return [faultWarning(broken, broken.fault)]
    try {
      return this.resolve({ cwd: this.#options.cwd }).notices.map(noticeWarning)
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      return [invalidWarning(error.message)]
    }
  }

  read({ cwd, includeLayers }: { readonly cwd: string | null; readonly includeLayers: boolean }): ConfigRead {
    const broken = this.#userFiles().find(file => file.fault)
    const fault = broken?.fault
    if (fault?.kind === 'syntax') {
      throw new EngineError('configInvalid', `failed to read configuration layers: ${fault.message}`)
    }
    if (fault) throw new EngineError('configInvalid', `invalid configuration: ${fault.plain}`)
    const layers = cwd === null ? this.#userLayers() : this.#layers(cwd, {}).layers
    return readConfig(layers, includeLayers)
  }

  write(request: ConfigWrite): Promise<ConfigWritten> {
    const above = [...this.#profileLayer(), ...(this.#flags ? [this.#flags] : [])]
    return writeConfig(request, { home: this.#options.home, above })
  }

  trust(cwd: string): Trust {
    const said = this.#said()
    return trustOf(projectFolders(cwd, rootMarkers(said)), said)
  }

  /** What the files and the command line say, whichever of the files can be read. */
  #said(): JsonObject {
    const files = this.#userFiles().reduce<JsonObject>((low, file) => merge(low, file.table), {})
    return merge(files, this.#flags?.table ?? {})
  }

  /** All layers of a thread, lowest first. */
  #layers(at: string, overrides: JsonObject): { readonly layers: readonly Layer[]; readonly trust: Trust } {
    const cwd = absolute(at, this.#options.cwd)
    const user = this.#userLayers()
    const thread = threadLayer(overrides, cwd, this.#options.env)
    const said = merged([...user, thread])
    const folders = projectFolders(cwd, rootMarkers(said))
    const flags = user.filter(({ source }) => source.type === 'flags')
    const files = user.filter(({ source }) => source.type === 'user')
    const { home } = this.#options
    const project = projectLayers(this.#files, folders, { home, below: merged(files), trust: said })
    return { layers: [...files, ...project, ...flags, thread], trust: trustOf(folders, said) }
  }

  /** The layers that do not depend on a directory. Throws `configInvalid` when a file is broken. */
  #userLayers(): readonly Layer[] {
    const layers = this.#userFiles().map((file, index): Layer => {
      if (file.fault) throw new EngineError('configInvalid', file.fault.message)
      return this.#fileLayer(file, index > 0)
    })
    return this.#flags ? [...layers, this.#flags] : layers
  }

  #profileLayer(): readonly Layer[] {
    return this.#userFiles()
      .slice(1)
      .map(file => this.#fileLayer(file, true))
  }

  #fileLayer(file: ConfigFile, isProfile: boolean): Layer {
    const { home, env, profile = null } = this.#options
    const table = absolutePaths(file.table, home, env)
    return layer({ type: 'user', file: file.path, profile: isProfile ? profile : null }, file.version, table)
  }

  #userFiles(): readonly ConfigFile[] {
    const paths = [join(this.#options.home, 'config.toml')]
    if (this.#profilePath !== null) paths.push(this.#profilePath)
    return paths.map(path => this.#files.read(path))
  }

  #checkProvider({ modelProvider, modelProviders }: Settings): void {
    const { providers } = this.#options
    if (modelProvider === null || providers === undefined || providers.includes(modelProvider)) return
    if (Object.hasOwn(modelProviders, modelProvider)) return
    throw new EngineError('configInvalid', `Model provider \`${modelProvider}\` not found`)
  }
}
