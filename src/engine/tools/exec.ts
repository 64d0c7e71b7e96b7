import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { printable } from '../../base/log.ts'
import { absolute } from '../../base/paths.ts'
import type { CommandItem } from '../items.ts'
import { type Classified, classify, matchesPrefix } from '../policy/commands.ts'
import { decide } from '../policy/policy.ts'
import { commandActions } from './command-actions.ts'
import { commandKey, hasAll } from './grants.ts'
import type { ToolHost } from './host.ts'
import { osErrorText } from './os-error.ts'
import { Output } from './output.ts'
import type { Ended, Running } from './processes.ts'
import { type ShellProgram, shownCommand } from './shell.ts'
import type { ToolCall, ToolContext } from './tool.ts'

/** What a model asks to be run, whichever tool it asks by. */
export interface CommandRequest {
  readonly command: string
  readonly workdir: string | null
  readonly shell: string | null
  readonly login: boolean
  /** After this time it is stopped. */
  readonly limitMs: number
  readonly escalated: boolean
  /** Why it should run outside of the sandbox, in the model's words. */
  readonly justification: string | null
  /** Whether its item shows a process id and counts as the start of a session, as those of `exec_command` do in codex. */
  readonly showsProcess: boolean
}

export type CommandOutcome =
  | {
      readonly type: 'ended'
      readonly code: number
      readonly ms: number
      readonly output: Output
      readonly late: boolean
    }
  /** A person or the policy said no. */
  | { readonly type: 'rejected'; readonly shown: string; readonly reason: string }
  | { readonly type: 'failed'; readonly shown: string; readonly reason: string }
  | { readonly type: 'aborted'; readonly ms: number }

/** Runs one command through all the stations: may it, its item, its process, its output. */
export function runCommand(
  request: CommandRequest,
  call: ToolCall,
  cx: ToolContext,
  host: ToolHost,
): Promise<CommandOutcome> {
  return new CommandRun(request, call, cx, host).run()
}

/** Codex's exit code for a command that was stopped because it took too long. */
const TIMED_OUT = 124

/** Codex's exit code for a command that was interrupted. */
const INTERRUPTED = 1

/** How long an interrupted command may take to end before its turn goes on without it; it is stopped all the same. */
const FAREWELL_MS = 50

class CommandRun {
  readonly #request: CommandRequest
  readonly #call: ToolCall
  readonly #cx: ToolContext
  readonly #host: ToolHost
  readonly #cwd: string
  readonly #shell: ShellProgram | null
  /** The exact command line. */
  readonly #line: string
  readonly #output: Output
  #item: CommandItem

  constructor(request: CommandRequest, call: ToolCall, cx: ToolContext, host: ToolHost) {
    this.#request = request
    this.#call = call
    this.#cx = cx
    this.#host = host
    this.#cwd = absolute(request.workdir ?? '.', cx.settings.cwd)
    this.#shell = host.shell.find(request.shell)
    const shell = this.#shell ?? { path: request.shell ?? 'sh', trusted: false }
    this.#line = shownCommand(shell, request.command, request.login)
    this.#output = new Output(delta => cx.delta(call.id, { type: 'output' }, delta))
    this.#item = {
      type: 'command',
      id: call.id,
      command: printable(this.#line),
      cwd: printable(this.#cwd),
      processId: null,
      source: 'agent',
      status: 'inProgress',
      actions: commandActions(printable(request.command), this.#cwd),
      output: null,
      exitCode: null,
      durationMs: null,
    }
  }

  async run(): Promise<CommandOutcome> {
    const cx = this.#cx
    if (cx.signal.aborted) return { type: 'aborted', ms: 0 }
    const trouble = this.#trouble()
    if (trouble !== null || this.#shell === null) return this.#failToStart(trouble ?? 'no such shell')
    const env = await this.#environment()
    if (env === null) return { type: 'aborted', ms: 0 }
    const verdict = this.#decide(env)
    if (verdict === 'run') return this.#start(this.#shell, env, false)
    cx.startItem(this.#item)
    const refusal = verdict === 'ask' ? await this.#ask() : verdict.refuse
    if (refusal !== null) return this.#reject(refusal, verdict === 'ask' ? 'declined' : refusal)
    // The answer and an interrupt may come in the same moment.
    if (cx.signal.aborted) return this.#reject('aborted by user', 'declined')
    return this.#start(this.#shell, env, true)
  }

  /** Why it cannot start, as far as that can be seen before. */
  #trouble(): string | null {
    if (this.#shell === null) return `there is no shell ${this.#request.shell}`
    try {
      return statSync(this.#cwd).isDirectory() ? null : 'Not a directory (os error 20)'
    } catch (error) {
      return osErrorText(error)
    }
  }

  /** The first command of a server may have to wait for start-up files; null when the turn is interrupted meanwhile. */
  async #environment(): Promise<NodeJS.ProcessEnv | null> {
    const over = new AbortController()
    const env = this.#host.shell.environment(this.#request.login)
    const first = await Promise.race([env, interrupted(this.#cx.signal, over.signal)])
    over.abort()
    return first === 'interrupt' || this.#cx.signal.aborted ? null : first
  }

  #classified(): Classified {
    return this.#shell?.trusted ? classify(this.#request.command) : { readOnly: false, prefix: null }
  }

  #decide(env: NodeJS.ProcessEnv): ReturnType<typeof decide> {
    const { approvalPolicy: policy, sandbox } = this.#cx.settings
    const { grants } = this.#cx
    const byPrefix =
      this.#shell?.trusted && grants.prefixes.some(prefix => matchesPrefix(this.#request.command, prefix))
    const granted = byPrefix || hasAll(grants, [this.#key])
    const readOnly = this.#classified().readOnly && isSafePath(env.PATH ?? '')
    return decide({ tool: 'command', policy, sandbox, granted, readOnly, escalated: this.#request.escalated })
  }

  get #key(): string {
    return commandKey(this.#cwd, this.#line)
  }

  /** Asks a person; null when it may run, else what the model is told. */
  async #ask(): Promise<string | null> {
    const { prefix } = this.#classified()
    const { command, cwd, actions } = this.#item
    const { justification } = this.#request
    const decision = await this.#cx.ask({
      type: 'command',
      turnId: this.#cx.turnId,
      itemId: this.#call.id,
      startedAt: this.#cx.now(),
      command,
      cwd,
      reason: justification ? printable(justification) : null,
      actions,
      prefix,
    })
    switch (decision.type) {
      case 'accept':
        return null
      case 'acceptForSession':
        this.#cx.grants.exact.add(this.#key)
        return null
      case 'acceptPrefix':
        // Only what was offered counts.
        if (prefix === null || JSON.stringify(prefix) !== JSON.stringify(decision.prefix)) return REJECTED
        this.#cx.grants.prefixes.push(prefix)
        return null
      case 'decline':
        return decision.message ?? REJECTED
      case 'cancel':
      case 'result':
        return REJECTED
      default:
        return decision satisfies never
    }
  }

  #reject(reason: string, shown: string): CommandOutcome {
    this.#cx.completeItem({ ...this.#item, status: 'declined', output: `(not run: ${shown})` })
    return { type: 'rejected', shown: this.#line, reason }
  }

  #failToStart(reason: string): CommandOutcome {
    this.#cx.startItem(this.#item)
    return this.#fail(reason)
  }

  #fail(reason: string): CommandOutcome {
    this.#output.write(Buffer.from(`${reason}\n`))
    this.#cx.completeItem({ ...this.#item, status: 'failed', output: this.#output.end() })
    return { type: 'failed', shown: this.#line, reason }
  }

  async #start(shell: ShellProgram, env: NodeJS.ProcessEnv, isStarted: boolean): Promise<CommandOutcome> {
    const startedAt = this.#cx.now()
    this.#host.processes.stopOnAbort(this.#cx.signal, this.#cx.turnId)
    const running = this.#host.processes.start({
      argv: [shell.path, '-c', this.#request.command],
      cwd: this.#cwd,
      env,
      owner: this.#cx.turnId,
      onOutput: chunk => this.#output.write(chunk),
    })
    if (this.#request.showsProcess) this.#item = { ...this.#item, processId: running.id, source: 'sessionStartup' }
    if (!isStarted) this.#cx.startItem(this.#item)
    const { ended, stopped } = await this.#wait(running)
    if (ended?.type === 'failed') return this.#fail(ended.message)
    const ms = this.#cx.now() - startedAt
    const code = { interrupt: INTERRUPTED, limit: TIMED_OUT, no: ended?.code ?? INTERRUPTED }[stopped]
    this.#complete(code, ms)
    if (stopped === 'interrupt') return { type: 'aborted', ms }
    return { type: 'ended', code, ms, output: this.#output, late: stopped === 'limit' }
  }

  /** Waits for the end, or for a reason to bring it about. `ended` is null when it still takes its time to die. */
  async #wait(running: Running): Promise<{ ended: Ended | null; stopped: 'no' | 'limit' | 'interrupt' }> {
    const over = new AbortController()
    const limit = sleep(this.#request.limitMs, 'limit' as const, { signal: over.signal }).catch(() => 'limit' as const)
    const end = running.ended.then(() => 'no' as const)
    const stopped = await Promise.race([end, limit, interrupted(this.#cx.signal, over.signal)])
    over.abort()
    if (stopped === 'no') return { ended: await running.ended, stopped }
    const gone = stopped === 'limit' ? running.stop() : sleep(FAREWELL_MS)
    return { ended: await Promise.race([running.ended, gone.then(() => null)]), stopped }
  }

  #complete(code: number, durationMs: number): void {
    const output = this.#output.end() || null
    this.#cx.completeItem({
      ...this.#item,
      status: code === 0 ? 'completed' : 'failed',
      output,
      exitCode: code,
      durationMs,
    })
  }
}

const REJECTED = 'rejected by user'

/** Whether no program can be found through a folder relative to where the command runs: a repository may bring an `ls`. */
const isSafePath = (path: string): boolean => path.split(':').every(folder => folder.startsWith('/'))

function interrupted(signal: AbortSignal, over: AbortSignal): Promise<'interrupt'> {
  return new Promise(resolve => {
    if (signal.aborted) resolve('interrupt')
    signal.addEventListener('abort', () => resolve('interrupt'), { once: true, signal: over })
  })
}
