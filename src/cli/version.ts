import { PINS } from '../codex/handshake.ts'

/**
 * What `--version` prints. Launchers of codex clients look for exactly `codex-cli X.Y.Z`, so that is what a drop-in says:
 * the version it claims on the wire.
 */
export function versionLine(env: NodeJS.ProcessEnv): string {
  const claimed = env.SKEIN_CODEX_VERSION
  return `codex-cli ${claimed && claimed !== 'auto' ? claimed : PINS[PINS.length - 1]}`
}
