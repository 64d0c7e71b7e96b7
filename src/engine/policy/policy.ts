import type { ApprovalPolicy, SandboxPolicy } from '../events.ts'

/** What a tool is about to do, as far as the decision needs it. */
export type Question = {
  readonly policy: ApprovalPolicy
  readonly sandbox: SandboxPolicy
  /** A person has allowed exactly this, or its prefix, earlier in the thread. */
  readonly granted: boolean
} & (
  | {
      readonly tool: 'command'
      /** It surely only reads (`classify`). */
      readonly readOnly: boolean
      /** The model itself asks to run it outside of the sandbox. */
      readonly escalated: boolean
    }
  | {
      readonly tool: 'patch'
      /** Why some file of the patch is not plainly inside the folders that may be written; null when all are. */
      readonly outside: string | null
    }
)

/** Do it, ask a person first, or do not and tell the model why. */
export type Verdict = 'run' | 'ask' | { readonly refuse: string }

const NEVER = 'the approval policy is never'

/**
 * Approval policy times sandbox. There is no sandbox of the operating system yet, so a command that would run inside one asks
 * instead (under `never`: is refused), unless it surely only reads. Patches are written by ourselves and only where they may, so
 * they need no sandbox.
 */
export function decide(question: Question): Verdict {
  if (question.granted) return 'run'
  return question.tool === 'command' ? decideCommand(question) : decidePatch(question)
}

function decideCommand(question: Question & { readonly tool: 'command' }): Verdict {
  const { policy, readOnly, escalated } = question
  const free = question.sandbox.type === 'dangerFullAccess'
  switch (policy) {
    case 'untrusted':
      return readOnly && !escalated ? 'run' : 'ask'
    case 'on-request':
      return !escalated && (free || readOnly) ? 'run' : 'ask'
    case 'never':
      if (free || (readOnly && !escalated)) return 'run'
      if (escalated) return { refuse: `${NEVER}: a command cannot ask to run outside of the sandbox` }
      return { refuse: `it would have to run in a sandbox, which is not available here, and ${NEVER}` }
    default:
      return policy satisfies never
  }
}

function decidePatch({ policy, sandbox, outside }: Question & { readonly tool: 'patch' }): Verdict {
  if (policy === 'untrusted') return 'ask'
  if (sandbox.type === 'dangerFullAccess') return 'run'
  const why = sandbox.type === 'readOnly' ? 'the workspace is read-only' : outside
  if (why === null) return 'run'
  return policy === 'never' ? { refuse: `${why}; ${NEVER}` } : 'ask'
}
