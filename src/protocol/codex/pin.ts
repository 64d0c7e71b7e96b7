/** The protocol versions we answer for, the primary one first. */
export const PINS = ['0.142.5', '0.171.0'] as const
export type PinVersion = (typeof PINS)[number]

/** What the pins say of one client request. */
export interface MethodSpec {
  /** The pins that know the method. */
  readonly pins: readonly PinVersion[]
  /** True where the method takes no params; then any are accepted. */
  readonly paramless: boolean
  /** The params field that names the thread whose lane the request takes; null: it takes none. */
  readonly threadLane: 'threadId' | null
  /**
   * True where the whole method needs the experimental capability; else the params fields that need it, in the order in
   * which they are looked at. From the first pin that knows the method.
   */
  readonly experimental: true | readonly string[]
}
