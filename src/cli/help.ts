const MAIN = `Skein: an app-server for every Codex client, on any model.

Usage: skein <command> [options]

Commands:
  app-server   Serve the Codex app-server protocol over stdio, WebSocket or a unix socket
  version      Print the codex version this server claims to be
  help         Print this text, or the help of a command

Skein keeps its state in $SKEIN_HOME (default ~/.skein). See docs/ for everything else.
`

const APP_SERVER = `Usage: skein app-server [options]

Options:
  --listen ADDRESS    stdio:// (default), ws://IP:PORT (port 0: a free one), unix://, unix:///PATH, off
  --ws-auth FILE      File with the bearer token for ws:// (default: $SKEIN_HOME/app-server/ws-token, made when absent)
  --ws-auth off       No token; only on loopback addresses
  --protocol codex    The dialect spoken on the listener
  -c KEY=VALUE        Override a key of config.toml; repeatable, the value is TOML or else plain text
  -p, --profile NAME  Lay $SKEIN_HOME/NAME.config.toml over config.toml
  --log-level LEVEL   debug, info (default), warn, error; logs go to stderr
  --greet             Print what to paste into each client
`

/** The help of a command, or of everything. */
export const helpText = (topic: string | null): string => (topic === 'app-server' ? APP_SERVER : MAIN)
