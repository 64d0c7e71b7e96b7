import { printable } from '../base/log.ts'
import type { CommandItem } from './items.ts'
import { commandActions } from './tools/command-actions.ts'
import type { ToolHost } from './tools/host.ts'
import { Output } from './tools/output.ts'
import { shownCommand } from './tools/shell.ts'
import type { Task } from './turn.ts'

export interface UserCommand {
  readonly command: string
  readonly cwd: string
  readonly host: ToolHost
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** A command that the person at the client typed: it runs without being asked about, and the model is shown what came of it. */
export function userShell({ command, cwd, host, now }: UserCommand): Task {
  return async ({ turnId, items, signal, show }) => {
    const shell = host.shell.find(null)
    const id = items.claimId(null)
    const item: CommandItem = {
      type: 'command',
      id,
      command: printable(shownCommand(shell ?? { path: 'sh', trusted: false }, command, true)),
      cwd,
      processId: null,
      source: 'userShell',
      status: 'inProgress',
      actions: commandActions(printable(command), cwd),
      output: null,
      exitCode: null,
      durationMs: null,
    }
    items.start(item)
    const startedAt = now()
    const output = new Output(delta => items.delta(id, { type: 'output' }, delta))
    const code = shell
      ? await run({ argv: [shell.path, '-c', command], cwd, owner: turnId, output, host, signal })
      : failing(output, 'there is no shell')
    const durationMs = now() - startedAt
    const text = output.end()
    const status = code === 0 ? 'completed' : 'failed'
    items.complete({ ...item, status, output: text || null, exitCode: code, durationMs }, { context: false })
    show({ type: 'message', role: 'user', parts: [{ type: 'text', text: shown(command, code, durationMs, output) }] })
    return null
  }
}

interface Run {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly owner: string
  readonly output: Output
  readonly host: ToolHost
  readonly signal: AbortSignal
}

/** Runs to the end or to the interrupt; a command that cannot start says why in its output. */
async function run({ argv, cwd, owner, output, host, signal }: Run): Promise<number> {
  const env = await host.shell.environment(true)
  const running = host.processes.start({ argv, cwd, env, owner, onOutput: chunk => output.write(chunk) })
  const stop = (): void => void running.stop()
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const ended = await running.ended
  signal.removeEventListener('abort', stop)
  return ended.type === 'exited' ? ended.code : failing(output, ended.message)
}

function failing(output: Output, why: string): number {
  output.write(Buffer.from(`${why}\n`))
  return 1
}

/** Tokens of output the model is shown, as for its own commands. */
const SHOWN_TOKENS = 10_000

/** Codex's form, which models know. */
function shown(command: string, code: number, ms: number, output: Output): string {
  return `<user_shell_command>
<command>
${command}
</command>
<result>
Exit code: ${code}
Duration: ${(ms / 1000).toFixed(4)} seconds
Output:
${output.forModel(SHOWN_TOKENS).text}
</result>
</user_shell_command>`
}
