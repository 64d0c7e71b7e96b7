import { failed } from './args.ts'
import type { Tool, ToolCall, ToolContext, ToolResult } from './tool.ts'

/**
 * Keeps the calls of one model response in an order that a model can rely on, as codex does: commands run side by side, and
 * every other call waits for all calls before it and holds up all after it. So tests that are asked for together with a
 * patch run on the patched files, even when a person has to allow the patch first.
 */
export class Gate {
  /** Settles when the last call that must be alone is done. */
  #alone: Promise<unknown> = Promise.resolve()
  #together: Promise<unknown>[] = []

  /** The same tool behind this gate. Calls pass it in the order in which `run` is called. */
  guard(tool: Tool, isParallel: boolean): Tool {
    return { spec: tool.spec, run: (call, cx) => this.#pass(tool, isParallel, call, cx) }
  }

  #pass(tool: Tool, isParallel: boolean, call: ToolCall, cx: ToolContext): Promise<ToolResult> {
    const before = isParallel ? this.#alone : Promise.all([this.#alone, ...this.#together])
    const result = before.then(() => (cx.signal.aborted ? ABORTED : tool.run(call, cx)))
    const over = result.catch(() => {})
    if (isParallel) this.#together.push(over)
    else {
      this.#alone = over
      this.#together = []
    }
    return result
  }
}

const ABORTED = failed('aborted by user')
