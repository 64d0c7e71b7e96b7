import type { ThreadView } from '../events.ts'
import { History } from '../history.ts'
import { viewOf } from '../thread-view.ts'
import type { Disk } from './disk.ts'
import { headerFromName } from './log-name.ts'
import { parseRecord } from './read-log.ts'

const LF = 10

/** The beginning of every line that we write: enough to know when it was written and whether a list cares for it. */
const HEAD = /^\{"n":\d+,"at":(\d+),"t":"(\w+)"/
const HEAD_LENGTH = 80

/** Records that say nothing of what a list shows, once the first message is known. */
const HEAVY: ReadonlySet<string> = new Set(['turn', 'item', 'context', 'usage', 'part', 'end'])

/**
 * What a list shows of one log, read without parsing its bulk, and read on from where the last reading ended when the log
 * has grown.
 */
export class LightReading {
  readonly #path: string
  readonly #history = new History()
  #offset = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Bytes of whole lines read so far. */
  get offset(): number {
    return this.#offset
  }

  /** Reads what has been added. Throws when the disk does. */
  readOn(disk: Disk): void {
    const bytes = disk.read(this.#path, this.#offset)
    let start = 0
    for (let end = bytes.indexOf(LF); end >= 0; end = bytes.indexOf(LF, start)) {
      this.#line(bytes, start, end)
      start = end + 1
    }
    this.#offset += start
  }

  /** Null when the log tells nothing and its name neither. */
  view(): ThreadView | null {
    const history = this.#history
    const header = history.header ?? headerFromName(this.#path, history.settings)
    if (!header) return null
    const settings = history.settings ?? header.settings
    return viewOf(history, header, {
      status: { type: 'notLoaded' },
      path: this.#path,
      ephemeral: false,
      settings,
      updatedAt: Math.max(history.updatedAt, header.createdAt),
    })
  }

  #line(bytes: Buffer, start: number, end: number): void {
    const history = this.#history
    const [, at, type = ''] = HEAD.exec(bytes.toString('latin1', start, Math.min(end, start + HEAD_LENGTH))) ?? []
    if (HEAVY.has(type) && history.preview !== '') return history.touch(Number(at))
    const record = parseRecord(bytes.toString('utf8', start, end))
    if (!record) return
    history.apply(record, record.at)
    if (history.preview !== '') history.forgetTurns()
  }
}
