/** Milliseconds as seconds with at most one decimal, as codex writes wall times: `0.2`, `3`. */
export const rounded = (ms: number): string => String(Math.round(ms / 100) / 10)
