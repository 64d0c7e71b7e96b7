import type { Channel, ChannelHandlers } from '../../src/rpc/channel.ts'
import type { Frame } from '../../src/rpc/frame.ts'

/** A channel that only notes what happens to it. `buffered` is what the test says, or grows with what is sent. */
export class FakeChannel implements Channel {
  readonly transport = 'memory'
  readonly path = null
  /** What happened, in order; the text of big frames is left out. */
  readonly log: string[] = []
  buffered = 0
  /** Whether sent bytes stay in `buffered`. */
  stuck = false

  send(frame: Frame): void {
    if (this.stuck) this.buffered += frame.bytes.length
    this.log.push(frame.bytes.length > 500_000 ? 'send much' : `send ${frame.bytes.toString().trimEnd()}`)
  }
  cork(): void {
    this.log.push('cork')
  }
  uncork(): void {
    this.log.push('uncork')
  }
  pause(): void {}
  resume(): void {}
  close(code: number, reason: string): void {
    this.log.push(`close ${code} ${reason}`)
  }
  open(_handlers: ChannelHandlers): void {}

  /** What happened since the last call. */
  take(): readonly string[] {
    return this.log.splice(0)
  }
}

/** Timers that run when the test says. */
export class FakeTimers {
  readonly pending: { readonly ms: number; readonly run: () => void }[] = []
  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { ms, run }
    this.pending.push(timer)
    return () => {
      const at = this.pending.indexOf(timer)
      if (at >= 0) this.pending.splice(at, 1)
    }
  }
  /** Runs everything that is pending now. */
  fire(): void {
    for (const { run } of this.pending.splice(0)) run()
  }
}
