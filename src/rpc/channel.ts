import type { Frame } from './frame.ts'

/** One peer's pair of roads, whatever carries it. A transport makes it; a session owns it. */
export interface Channel {
  readonly transport: 'stdio' | 'websocket' | 'unix' | 'memory'
  /** Path of the upgrade request (`/`, `/native`), null where there is none. */
  readonly path: string | null
  /** Hands one message over. Never blocks, never throws; after `close` it does nothing. */
  send(frame: Frame): void
  /** Bytes handed over that the operating system has not taken yet. */
  readonly buffered: number
  /** Holds back writes until `uncork`, so that all frames of one tick become one write. */
  cork(): void
  uncork(): void
  /** Stops and starts the delivery of incoming messages: how overload is answered. */
  pause(): void
  resume(): void
  /** Ends the connection. `code` is a WebSocket close code; transports without one ignore it. */
  close(code: number, reason: string): void
  /** Starts delivery. Called exactly once. */
  open(handlers: ChannelHandlers): void
}

export interface ChannelHandlers {
  /** One incoming message, not yet parsed, already bounded in size. */
  message(text: string): void
  /** An incoming message was dropped for its size (stdio); a WebSocket closes with 1009 instead. */
  oversized(bytes: number): void
  /** `buffered` fell back below the transport's low-water mark. */
  drain(): void
  /**
   * The peer will send no more but may still read: stdin ended. What was accepted can be answered; then `close`. A session
   * without it gets `closed` instead.
   */
  ended?(): void
  /** The peer is gone; called exactly once, whoever closed. */
  closed(): void
}
