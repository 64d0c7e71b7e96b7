import { randomBytes } from 'node:crypto'
import { absolute } from '../../base/paths.ts'
import type { ToolSpec } from '../models/model.ts'
import { applyPatchText } from './apply-patch.ts'
import { type Arguments, badArguments, failed, parseArguments, said } from './args.ts'
import { type CommandOutcome, type CommandRequest, runCommand } from './exec.ts'
import type { ToolHost } from './host.ts'
import { parsePatch } from './patch.ts'
import { shellPatch } from './patch-shell.ts'
import { rounded } from './seconds.ts'
import { EXEC_COMMAND, SHELL_COMMAND } from './specs.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tool.ts'

/** Tokens of output that a model is shown when it names no number, as in codex; and the most it can get. */
const DEFAULT_TOKENS = 10_000
const MAX_TOKENS = 100_000

/**
 * A command of `exec_command` is waited for until it ends, whatever yield time the model names: sessions that run on in the
 * background need `write_stdin`, and a build that is killed half-way helps nobody. Ten minutes are the limit.
 */
const EXEC_LIMIT_MS = 10 * 60_000

/** Codex's limit for `shell_command` when the model names none; and the most it can name. */
const SHELL_LIMIT_MS = 10_000
const MAX_LIMIT_MS = 60 * 60_000

interface Asked {
  readonly request: CommandRequest
  readonly maxTokens: number
}

/** `exec_command`: a shell command line, with codex's result text for unified exec. */
export function execCommand(host: ToolHost): Tool {
  const read = (args: Arguments): Asked => ({
    request: { ...common(args, 'cmd'), shell: args.optionalText('shell'), limitMs: EXEC_LIMIT_MS, showsProcess: true },
    maxTokens: Math.min(args.optionalCount('max_output_tokens') ?? DEFAULT_TOKENS, MAX_TOKENS),
  })
  return new CommandTool(EXEC_COMMAND, host, read, execText)
}

/** `shell_command`: the same for models that were trained on it, with a time limit of their own. */
export function shellCommand(host: ToolHost): Tool {
  const read = (args: Arguments): Asked => {
    const wanted = args.optionalCount('timeout_ms') ?? args.optionalCount('timeout') ?? SHELL_LIMIT_MS
    const limitMs = Math.min(Math.max(wanted, 1), MAX_LIMIT_MS)
    return {
      request: { ...common(args, 'command'), shell: null, limitMs, showsProcess: false },
      maxTokens: DEFAULT_TOKENS,
    }
  }
  return new CommandTool(SHELL_COMMAND, host, read, shellText)
}

function common(args: Arguments, command: string): Omit<CommandRequest, 'shell' | 'limitMs' | 'showsProcess'> {
  return {
    command: args.text(command),
    workdir: args.optionalText('workdir'),
    login: args.optionalBoolean('login') ?? true,
    escalated: !['use_default', null].includes(args.optionalText('sandbox_permissions')),
    justification: args.optionalText('justification'),
  }
}

type Tell = (outcome: CommandOutcome, asked: Asked) => ToolResult

class CommandTool implements Tool {
  readonly spec: ToolSpec
  readonly #host: ToolHost
  readonly #read: (args: Arguments) => Asked
  readonly #tell: Tell

  constructor(spec: ToolSpec, host: ToolHost, read: (args: Arguments) => Asked, tell: Tell) {
    this.spec = spec
    this.#host = host
    this.#read = read
    this.#tell = tell
  }

  async run(call: ToolCall, cx: ToolContext): Promise<ToolResult> {
    const args = parseArguments(call.args, this.#read)
    if (!args.ok) return badArguments(args.error)
    const { request } = args.value
    const patched = await this.#patch(request, call, cx)
    return patched ?? this.#tell(await runCommand(request, call, cx, this.#host), args.value)
  }

  /** A patch that was given to the shell is applied as one, so that a person sees a change of files and not a command. */
  async #patch(request: CommandRequest, call: ToolCall, cx: ToolContext): Promise<ToolResult | null> {
    const found = shellPatch(request.command)
    if (!found) return isBarePatch(request.command) ? failed(BARE_PATCH) : null
    const workdir = absolute(request.workdir ?? '.', cx.settings.cwd)
    const startedAt = cx.now()
    const folder = absolute(found.folder ?? '.', workdir)
    const result = await applyPatchText({ patch: found.patch, folder }, call, cx, this.#host)
    const text = result.parts.map(part => (part.type === 'text' ? part.text : '')).join('')
    if (this.spec !== EXEC_COMMAND || result.isError) return result
    return said(`Wall time: ${wallTime(cx.now() - startedAt)} seconds\nOutput:\n${text}`)
  }
}

const isBarePatch = (command: string): boolean => command.trimStart().startsWith('*** Begin') && parsePatch(command).ok

const BARE_PATCH =
  'apply_patch verification failed: patch detected without explicit call to apply_patch. ' +
  'Rerun as ["apply_patch", "<patch>"]'

const wallTime = (ms: number): string => (ms / 1000).toFixed(4)

const execText: Tell = (outcome, { request, maxTokens }) => {
  switch (outcome.type) {
    case 'rejected':
      return failed(execFailure(outcome.shown, `Rejected(${JSON.stringify(outcome.reason)})`))
    case 'failed':
      return failed(execFailure(outcome.shown, outcome.reason))
    case 'aborted':
      return failed(abortedText(outcome.ms))
    case 'ended':
      return said(
        [
          `Chunk ID: ${randomBytes(3).toString('hex')}`,
          `Wall time: ${wallTime(outcome.ms)} seconds`,
          `Process exited with code ${outcome.code}`,
          `Original token count: ${outcome.output.tokens}`,
          `Output:\n${outputText(outcome, request, maxTokens, 'Warning')}`,
        ].join('\n'),
      )
    default:
      return outcome satisfies never
  }
}

const execFailure = (shown: string, message: string): string =>
  `exec_command failed for \`${shown}\`: CreateProcess { message: ${JSON.stringify(message)} }`

const shellText: Tell = (outcome, { request, maxTokens }) => {
  switch (outcome.type) {
    case 'rejected':
      return failed(outcome.reason === 'rejected by user' ? REJECTED : `${REJECTED}: ${outcome.reason}`)
    case 'failed':
      return failed(`execution error: ${outcome.reason}`)
    case 'aborted':
      return failed(abortedText(outcome.ms))
    case 'ended': {
      const { lines } = outcome.output.forModel(maxTokens)
      return said(
        [
          `Exit code: ${outcome.code}`,
          `Wall time: ${rounded(outcome.ms)} seconds`,
          ...(lines === null ? [] : [`Total output lines: ${lines}`]),
          `Output:\n${outputText(outcome, request, maxTokens, 'none')}`,
        ].join('\n'),
      )
    }
    default:
      return outcome satisfies never
  }
}

const REJECTED = 'exec command rejected by user'

const abortedText = (ms: number): string => `Wall time: ${rounded(ms)} seconds\naborted by user`

function outputText(
  { output, late }: CommandOutcome & { readonly type: 'ended' },
  request: CommandRequest,
  maxTokens: number,
  warning: 'Warning' | 'none',
): string {
  const { text, lines } = output.forModel(maxTokens)
  const limit = late ? `command timed out after ${request.limitMs} milliseconds\n` : ''
  if (lines === null || warning === 'none') return limit + text
  return `${limit}Warning: truncated output (original token count: ${output.tokens})\nTotal output lines: ${lines}\n\n${text}`
}
