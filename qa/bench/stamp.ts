const START = '"delta":"'

/** When a stamped delta was on its way, in nanoseconds of the machine's monotonic clock. */
export interface Stamp {
  /** The model got the request. */
  readonly received: number
  /** The model sent the delta. */
  readonly sent: number
}

/** Reads the stamp of a delta frame without parsing the rest. */
export function stampOf(frame: Buffer): Stamp {
  const text = frame.toString('latin1')
  const from = text.lastIndexOf(START) + START.length
  const [received = Number.NaN, sent = Number.NaN] = text
    .slice(from, text.indexOf('"', from))
    .trim()
    .split(',')
    .map(Number)
  return { received, sent }
}

export const nowNs = (): number => Number(process.hrtime.bigint())
