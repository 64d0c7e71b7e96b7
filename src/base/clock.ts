/** Milliseconds since the epoch. Passed in wherever time matters, so that tests never patch globals. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** Whole seconds for the wire: a fraction there kills every Rust client. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)
