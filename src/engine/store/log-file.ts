import { EngineError } from '../errors.ts'
import type { Disk, Handle } from './disk.ts'
import type { Lock } from './lock.ts'

/** Bytes written but not known to be on the medium that start a `sync` of their own. */
const MAX_UNSYNCED = 8 * 1024 * 1024

/** Milliseconds between attempts to write to a disk that failed. */
const RETRY_MS = 1000

/** What opening a log for appending gives. */
export interface OpenedFile {
  readonly lock: Lock
  readonly handle: Handle
  /** Bytes in it already. */
  readonly size: number
  /** Folders that got a new entry by it. */
  readonly folders: readonly string[]
}

/** What the owner of a log must hear of. Each is said once per change. */
export type LogNews =
  | { readonly type: 'failing'; readonly why: string }
  /** Another process has the log now; nothing more is written. */
  | { readonly type: 'lost'; readonly why: string }
  /** Everything that waited has been written. */
  | { readonly type: 'recovered' }

export interface LogFileOptions {
  readonly disk: Disk
  readonly path: string
  /** False: written, but left to the system to bring to the medium. */
  readonly durable: boolean
  /** Bytes that may wait for a disk that cannot be written before new turns are refused. */
  readonly maxWaiting: number
  /** Takes the lock and opens the file. Throws `lockedElsewhere` for a lock that another has, else when the disk fails. */
  open(): OpenedFile
  /** Length of what has been read of it; a file of another length is not the one we know. Null for a new one. */
  readonly known: number | null
  report(news: LogNews): void
}

/**
 * The bytes of one log on their way to the medium: lines that wait to be written, then lines in the file that are not
 * known to be on the medium. A disk that fails makes them grow and nothing is lost: it is made good when the disk can.
 */
export class LogFile {
  readonly #options: LogFileOptions
  #opened: OpenedFile | null = null
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0
  readonly #written: Buffer[] = []
  #writtenBytes = 0
  /** Bytes at the front of the file that are good. */
  #base = 0
  #state: 'fine' | 'failing' | 'lost' | 'closed' = 'fine'
  /** After a failed sync nobody knows what the file holds: it is written anew. */
  #suspect = false
  #closing = false
  /** The lock has been given back; only bringing to the medium what is written may follow. */
  #released = false
  #folders: readonly string[] = []
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #queued: Promise<void> | null = null

  constructor(options: LogFileOptions, opened: OpenedFile | null) {
    this.#options = options
    if (opened) this.#use(opened)
  }

  /** Whether so much waits for the disk that nothing new should be begun. */
  get full(): boolean {
    return this.#waitingBytes > this.#options.maxWaiting
  }

  get failing(): boolean {
    return this.#state === 'failing'
  }

  /** Takes one whole line; writes it at once when the disk allows. */
  append(line: Buffer): void {
    if (this.#ended || this.#closing) return
    this.#waiting.push(line)
    this.#waitingBytes += line.length
    this.#flush()
    if (this.#options.durable && this.#writtenBytes > MAX_UNSYNCED && !this.#queued) void this.sync()
  }

  /**
   * Resolves when everything appended so far is on the medium, or has been found not to get there right now, which is
   * reported. Starts at once; calls that come while one runs share the next one. Never rejects.
   */
  sync(): Promise<void> {
    if (!this.#running) return this.#start()
    this.#queued ??= this.#running.then(() => {
      this.#queued = null
      return this.#start()
    })
    return this.#queued
  }

  /**
   * Gives the lock back: at once when everything is written, so that whoever opens the log next need not wait for the
   * medium; else when a last attempt has been made.
   */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#closing = true
    this.#released = this.#state === 'fine' && this.#waiting.length === 0 && !this.#suspect
    if (this.#released) this.#opened?.lock.release()
    await this.sync()
    this.#state = 'closed'
    this.#stopTimer()
    this.#drop()
  }

  get #ended(): boolean {
    return this.#state === 'lost' || this.#state === 'closed'
  }

  #start(): Promise<void> {
    this.#running = this.#commit().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #commit(): Promise<void> {
    if (this.#ended || !this.#owned()) return
    if (!this.#suspect) this.#flush()
    if (this.#suspect) return this.#rewrite()
    const { handle } = this.#opened ?? {}
    const lines = this.#written.length
    if (!handle || !this.#options.durable || lines + this.#folders.length === 0) return
    try {
      await Promise.all([handle.datasync(), ...this.#folders.map(folder => this.#options.disk.syncDir(folder))])
      this.#folders = []
      this.#forget(lines)
    } catch (error) {
      this.#suspect = true
      this.#failed(error)
      if (!this.#released) await this.#rewrite()
    }
  }

  /** Brings as much of what waits into the file as the disk takes. */
  #flush(): void {
    if (this.#suspect) return
    try {
      if (!this.#opened) this.#use(this.#options.open())
      if (this.#state === 'failing' && !this.#lengthIsRight()) return this.#distrust()
      if (this.#opened) this.#write(this.#opened.handle)
      if (!this.#options.durable) this.#forget(this.#written.length)
      this.#fine()
    } catch (error) {
      if (error instanceof EngineError && error.code === 'lockedElsewhere') this.#lose(error.message)
      else this.#failed(error)
    }
  }

  #write(handle: Handle): void {
    let done = 0
    try {
      for (; done < this.#waiting.length; done++) this.#writeLine(handle, done)
    } finally {
      this.#waiting.splice(0, done)
    }
  }

  /** A line that was cut short goes on where it was cut. */
  #writeLine(handle: Handle, at: number): void {
    for (let line = this.#waiting[at]!; line.length > 0; ) {
      const taken = handle.write(line)
      if (taken <= 0) throw new Error('the disk took nothing')
      this.#written.push(line.subarray(0, taken))
      this.#writtenBytes += taken
      this.#waitingBytes -= taken
      line = line.subarray(taken)
      this.#waiting[at] = line
    }
  }

  /** A write that failed may have left some of its bytes: then the file is not what we think it is. */
  #lengthIsRight(): boolean {
    return this.#options.disk.stat(this.#options.path)?.size === this.#base + this.#writtenBytes
  }

  #distrust(): void {
    this.#suspect = true
    if (!this.#running) void this.sync()
  }

  /** Puts a new file in the place of a suspect one: what was on the medium, then everything since. */
  async #rewrite(): Promise<void> {
    const { disk, path } = this.#options
    const temp = `${path}.new`
    try {
      disk.unlink(temp)
      const handle = disk.append(temp)
      const waiting = this.#waiting.length
      const bytes = Buffer.concat([disk.read(path).subarray(0, this.#base), ...this.#written, ...this.#waiting])
      writeAll(handle, bytes)
      await handle.datasync()
      if (!this.#owned()) return handle.close()
      disk.rename(temp, path)
      this.#replace(handle, { size: bytes.length, waiting })
      await disk.syncDir(folderOf(path))
      this.#flush()
    } catch (error) {
      this.#failed(error)
    }
  }

  /** The file is a new one that holds everything, `waiting` lines of what waited too. */
  #replace(handle: Handle, has: { readonly size: number; readonly waiting: number }): void {
    this.#opened?.handle.close()
    this.#opened = { ...this.#opened!, handle }
    this.#suspect = false
    for (const line of this.#waiting.splice(0, has.waiting)) this.#waitingBytes -= line.length
    this.#written.length = 0
    this.#writtenBytes = 0
    this.#base = has.size
  }

  /** The first `lines` written are safe, or safe enough. */
  #forget(lines: number): void {
    for (const line of this.#written.splice(0, lines)) {
      this.#base += line.length
      this.#writtenBytes -= line.length
    }
  }

  #use(opened: OpenedFile): void {
    const { known } = this.#options
    this.#opened = opened
    this.#base = opened.size
    this.#folders = opened.folders
    if (known !== null && known !== opened.size) this.#lose('another process has written to it')
  }

  /** Whether lock and file are still ours. A disk that cannot tell counts as failing, not as lost. */
  #owned(): boolean {
    const { disk, path } = this.#options
    if (!this.#opened || this.#released) return true
    try {
      if (!this.#opened.lock.held) this.#lose('another process has taken it over')
      else if (disk.stat(path)?.ino !== this.#opened.handle.ino) this.#lose('its file has been moved or removed')
      return this.#state !== 'lost'
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  #lose(why: string): void {
    if (this.#ended) return
    this.#state = 'lost'
    this.#stopTimer()
    this.#drop()
    this.#waiting.length = 0
    this.#written.length = 0
    this.#options.report({ type: 'lost', why })
  }

  #failed(error: unknown): void {
    if (this.#state !== 'fine') return
    this.#state = 'failing'
    this.#timer ??= setInterval(() => void this.sync(), RETRY_MS).unref()
    this.#options.report({ type: 'failing', why: error instanceof Error ? error.message : String(error) })
  }

  #fine(): void {
    if (this.#state !== 'failing') return
    this.#state = 'fine'
    this.#stopTimer()
    this.#options.report({ type: 'recovered' })
  }

  #stopTimer(): void {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  #drop(): void {
    this.#opened?.handle.close()
    this.#opened?.lock.release()
    this.#opened = null
  }
}

function writeAll(handle: Handle, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) {
    const taken = handle.write(bytes.subarray(at))
    if (taken <= 0) throw new Error('the disk took nothing')
    at += taken
  }
}

const folderOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'), 1))
