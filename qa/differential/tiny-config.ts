import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Tables of config.toml that name the MCP server of the scenarios (fixtures/tiny-server.ts) as `tiny`. */
export function tinyServer(): string {
  const loader = fileURLToPath(import.meta.resolve('tsx'))
  const args = ['--import', loader, join(import.meta.dirname, 'fixtures/tiny-server.ts')]
  return `\n[mcp_servers.tiny]\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(args)}\n`
}
