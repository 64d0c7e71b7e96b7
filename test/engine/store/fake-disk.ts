import type { Disk, Handle, Stat } from '../../../src/engine/store/disk.ts'
import type { Machine, ProcessName } from '../../../src/engine/store/machine.ts'

/** A failure as the operating system reports it. */
export const failure = (code: string): Error => Object.assign(new Error(`${code}: no luck`), { code })

interface FakeFile {
  readonly ino: number
  bytes: Buffer
  /** What a power cut leaves of it. */
  safe: Buffer
  links: number
  mtimeMs: number
}

/** What happens at one call: it fails, it writes half of what it should, or everything stops there. */
export type Fault = { readonly at: number; readonly kind: 'error' | 'short' | 'crash'; readonly code: string }

/** The state that survives: what a killed process leaves (`kept`), or what a power cut does. */
export interface Remains {
  readonly files: ReadonlyMap<string, Buffer>
}

/**
 * A disk in memory that counts every call, can fail one of them, and knows what would survive a power cut: bytes that were
 * synced, under names whose folders were. Two names of one file are two entries that share it.
 */
export class FakeDisk implements Disk {
  readonly #files = new Map<string, FakeFile>()
  /** Names as the medium has them. */
  #safeNames = new Map<string, FakeFile>()
  readonly #folders = new Set<string>(['/'])
  readonly calls: string[] = []
  crashed = false
  /** Told at the moment of a crash. */
  onCrash: () => void = () => {}
  #inos = 1
  fault: Fault | null = null
  /** While set, every call that changes something fails with it. */
  broken: string | null = null

  constructor(remains?: Remains) {
    for (const [path, bytes] of remains?.files ?? []) {
      const file = { ino: this.#inos++, bytes, safe: bytes, links: 1, mtimeMs: this.#inos }
      this.#files.set(path, file)
      this.#safeNames.set(path, file)
      for (let at = parent(path); at !== '/'; at = parent(at)) this.#folders.add(at)
    }
  }

  /** What a killed process leaves: everything it wrote. */
  kept(): Remains {
    return { files: new Map([...this.#files].map(([path, file]) => [path, file.bytes])) }
  }

  /** What a power cut leaves: synced bytes under synced names, and of the rest of each file its first `share`. */
  cut(share: (length: number) => number): Remains {
    const left = ({ safe, bytes }: FakeFile): Buffer =>
      safe.length >= bytes.length ? safe : bytes.subarray(0, safe.length + share(bytes.length - safe.length))
    return { files: new Map([...this.#safeNames].map(([path, file]) => [path, left(file)])) }
  }

  names(): readonly string[] {
    return [...this.#files.keys()].sort()
  }

  text(path: string): string {
    return this.#file(path).bytes.toString()
  }

  /** Puts a file there that has been on the medium for long. */
  put(path: string, bytes: Buffer | string): void {
    const file = this.#store(path, Buffer.from(bytes))
    file.safe = file.bytes
    this.#safeNames.set(path, file)
    for (let at = parent(path); at !== '/'; at = parent(at)) this.#folders.add(at)
  }

  mkdir(path: string): readonly string[] {
    this.#call('mkdir', path)
    const made: string[] = []
    for (let at = path; !this.#folders.has(at); at = parent(at)) {
      this.#folders.add(at)
      made.push(parent(at))
    }
    return made
  }

  append(path: string): Handle {
    this.#call('append', path)
    const file = this.#files.get(path) ?? this.#store(path, Buffer.alloc(0))
    return {
      ino: file.ino,
      write: bytes => this.#write(path, file, bytes),
      datasync: async () => {
        const { bytes, safe } = file
        try {
          this.#call('datasync', path)
        } catch (error) {
          // What Linux does: the pages are marked clean and whatever they held is as good as gone.
          if (!this.crashed) file.bytes = Buffer.concat([safe, Buffer.alloc(Math.max(0, bytes.length - safe.length))])
          throw error
        }
        await new Promise(resolve => setImmediate(resolve))
        if (this.crashed) throw failure('ECRASH')
        file.safe = bytes
      },
      close: () => {},
    }
  }

  #write(path: string, file: FakeFile, bytes: Buffer): number {
    const hit = this.fault?.at === this.calls.length && !this.crashed ? this.fault.kind : null
    const half = bytes.subarray(0, Math.ceil(bytes.length / 2))
    if (hit === 'crash') file.bytes = Buffer.concat([file.bytes, half])
    this.#call('write', path)
    const taken = hit === 'short' ? half : bytes
    file.bytes = Buffer.concat([file.bytes, taken])
    file.mtimeMs++
    return taken.length
  }

  read(path: string, offset = 0): Buffer {
    this.#call('read', path, true)
    return this.#file(path).bytes.subarray(offset)
  }

  list(path: string): readonly string[] {
    this.#call('list', path, true)
    const inside = [...this.#files.keys(), ...this.#folders].filter(name => name !== '/' && parent(name) === path)
    return inside.map(name => name.slice(name.lastIndexOf('/') + 1)).sort()
  }

  stat(path: string): Stat | null {
    this.#call('stat', path, true)
    const file = this.#files.get(path)
    if (!file) return null
    const { ino, links, mtimeMs } = file
    return { size: file.bytes.length, mtimeMs, birthtimeMs: 0, ino, links, file: true }
  }

  realpath(path: string): string {
    this.#call('realpath', path, true)
    this.#file(path)
    return path
  }

  truncate(path: string, size: number): void {
    this.#call('truncate', path)
    const file = this.#file(path)
    file.bytes = file.bytes.subarray(0, size)
  }

  write(path: string, bytes: Buffer): void {
    this.#call('create', path)
    this.#store(path, bytes)
  }

  rename(from: string, to: string): void {
    this.#call('rename', from)
    const file = this.#file(from)
    this.#files.delete(from)
    this.#files.set(to, file)
  }

  link(from: string, to: string): boolean {
    this.#call('link', from)
    if (this.#files.has(to)) return false
    const file = this.#file(from)
    file.links++
    this.#files.set(to, file)
    return true
  }

  unlink(path: string): void {
    this.#call('unlink', path)
    const file = this.#files.get(path)
    if (file) file.links--
    this.#files.delete(path)
  }

  async syncDir(path: string): Promise<void> {
    this.#call('syncDir', path)
    const now = [...this.#files].filter(([name]) => parent(name) === path)
    await new Promise(resolve => setImmediate(resolve))
    if (this.crashed) throw failure('ECRASH')
    const elsewhere = [...this.#safeNames].filter(([name]) => parent(name) !== path)
    this.#safeNames = new Map([...elsewhere, ...now])
  }

  #store(path: string, bytes: Buffer): FakeFile {
    const file = { ino: this.#inos++, bytes, safe: Buffer.alloc(0), links: 1, mtimeMs: this.#inos }
    this.#files.set(path, file)
    return file
  }

  #file(path: string): FakeFile {
    const file = this.#files.get(path)
    if (!file) throw failure('ENOENT')
    return file
  }

  /** Counts a call and does to it what has been arranged. After a crash nothing reaches the disk any more. */
  #call(name: string, path: string, reads = false): void {
    if (this.crashed) throw failure('ECRASH')
    const { fault } = this
    const hit = fault?.at === this.calls.length
    this.calls.push(`${name} ${path}`)
    if (hit && fault.kind === 'crash') {
      this.crashed = true
      this.onCrash()
    }
    if (hit && fault.kind !== 'short') throw failure(fault.code)
    if (this.broken !== null && !reads) throw failure(this.broken)
  }
}

const parent = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), 1)) || '/'

/** A process of a machine where only those in `alive` live. */
export function fakeMachine(pid: number, alive: ReadonlySet<number>): Machine {
  const self: ProcessName = { pid, start: '1', boot: 'b', host: 'h', space: '' }
  return { self, judge: other => (other.host !== 'h' ? 'unknown' : alive.has(other.pid) ? 'alive' : 'dead') }
}
