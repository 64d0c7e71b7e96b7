import type { Listener } from '../transport/listen.ts'

/** What a person who has just started a server wants to read: what runs, and what to paste where. */
export function greeting(listener: Listener, model: { readonly name: string; readonly why: string }): string {
  const { url, tokenFile } = listener
  const token = tokenFile === null ? '' : `SKEIN_TOKEN="$(cat ${quoted(tokenFile)})" `
  const flag = tokenFile === null ? '' : ' --remote-auth-token-env SKEIN_TOKEN'
  return `
Skein serves the Codex app-server protocol on ${url}
Model: ${model.name} (${model.why})

Codex TUI      ${token}codex --remote ${url}${flag}
codex exec     ${token}codex exec --remote ${url}${flag} "say: hello"
Zed, JetBrains (codex-acp)   set CODEX_PATH to a file that runs:  exec skein "$@"
Any other      connect a WebSocket to ${url}${tokenFile === null ? '' : `, header  Authorization: Bearer <token in ${tokenFile}>`}

Stop with Ctrl-C.
`
}

const quoted = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)
