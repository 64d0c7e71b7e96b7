import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Instance } from './instance.ts'
import type { Subject } from './subject.ts'

/** Numbers, or words where there is no number, by the name of the metric. */
export type Readings = Record<string, number | string>

/** One measure. What it has read before it fails counts. */
export interface Measure {
  readonly id: string
  readonly title: string
  run(stage: Stage, subject: Subject, out: Readings): Promise<void>
}

/** Where the model answers and where things lie; all of it is the run's own. */
export interface Paths {
  /** `base_url` of the mock model. */
  readonly modelUrl: string
  /** The folder that threads work in. */
  readonly work: string
  /** `HOME` of every server: empty. */
  readonly userHome: string
  /** Fresh homes. */
  readonly homes: string
  /** Saved threads that later runs use again. */
  readonly fixtures: string
}

/** What a measure works with. */
export class Stage {
  readonly paths: Paths
  readonly quick: boolean
  readonly #live = new Set<Instance>()

  constructor(paths: Paths, quick: boolean) {
    this.paths = paths
    this.quick = quick
    for (const folder of [paths.work, paths.userHome, paths.homes, paths.fixtures])
      mkdirSync(folder, { recursive: true })
  }

  /** A size: the full one, or the small one of a quick run. */
  size(full: number, quick: number): number {
    return this.quick ? quick : full
  }

  /** A home as after the installation. */
  freshHome(subject: Subject, tag = ''): string {
    return this.makeHome(subject, join(this.paths.homes, `${subject.name}${tag}`))
  }

  /** Makes `home` anew, with the configuration of this run. */
  makeHome(subject: Subject, home: string): string {
    rmSync(home, { recursive: true, force: true })
    return this.configure(subject, home)
  }

  /** Writes the configuration into a home that has threads already: the model has another port in every run. */
  configure(subject: Subject, home: string): string {
    for (const [name, text] of Object.entries(subject.files(this.paths))) {
      mkdirSync(dirname(join(home, name)), { recursive: true })
      writeFileSync(join(home, name), text)
    }
    mkdirSync(home, { recursive: true })
    return home
  }

  /** A server that is not started yet; the stage ends it if the measure does not. */
  instance(subject: Subject, home: string): Instance {
    const instance = new Instance({ subject, home, paths: this.paths })
    this.#live.add(instance)
    return instance
  }

  /** Ends what a measure has left running. */
  async clear(): Promise<void> {
    await Promise.all([...this.#live].map(instance => instance.crash()))
    this.#live.clear()
  }
}
