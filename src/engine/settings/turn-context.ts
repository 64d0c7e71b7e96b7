import { readlinkSync } from 'node:fs'
import { printable } from '../../base/log.ts'
import type { ApprovalPolicy, SandboxPolicy } from '../events.ts'

/** What a turn tells its model about the place it works in. */
export interface Surroundings {
  readonly cwd: string
  /** Name of the shell that commands run in, e.g. `bash`. */
  readonly shell: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** IANA name, e.g. `Europe/Berlin`; the date is the one on the wall there. */
  readonly timezone: string
}

/**
 * The time zone of this machine: what `TZ` says, else where `/etc/localtime` points. `Intl`, whose first use costs 30 ms of
 * CPU, is asked only where neither tells.
 */
export function localTimezone(): string {
  zone ??= namedZone(process.env.TZ) ?? linkedZone() ?? new Intl.DateTimeFormat().resolvedOptions().timeZone
  return zone
}

let zone: string | null = null

const namedZone = (tz: string | undefined): string | null => (tz && /^[A-Za-z][\w/+-]*$/.test(tz) ? tz : null)

function linkedZone(): string | null {
  try {
    return readlinkSync('/etc/localtime').split('/zoneinfo/')[1] || null
  } catch {
    return null
  }
}

/** The user message that says where and when a turn runs, in codex's tags. */
export function environmentContext({ cwd, shell, now, timezone }: Surroundings): string {
  return [
    '<environment_context>',
    `  <cwd>${escaped(cwd)}</cwd>`,
    `  <shell>${escaped(shell)}</shell>`,
    `  <current_date>${dateIn(now, timezone)}</current_date>`,
    `  <timezone>${escaped(timezone)}</timezone>`,
    '</environment_context>',
  ].join('\n')
}

/** What a thread may do without asking. */
export interface Permissions {
  readonly approvalPolicy: ApprovalPolicy
  readonly sandbox: SandboxPolicy
  readonly cwd: string
  readonly workspaceRoots: readonly string[]
  /** Whether the operating system enforces the sandbox; without, what would need it is asked for. */
  readonly enforced: boolean
}

/** The developer message that tells a model what it may do without asking, in codex's tags. */
export function permissionsText(permissions: Permissions): string {
  const parts = [sandboxText(permissions), networkText(permissions.sandbox), approvalText(permissions)]
  return `<permissions instructions>\n${parts.filter(part => part !== '').join('\n')}\n</permissions instructions>`
}

function sandboxText({ sandbox, cwd, workspaceRoots }: Permissions): string {
  const mode = (name: string): string => `Filesystem: \`sandbox_mode\` is \`${name}\`.`
  switch (sandbox.type) {
    case 'dangerFullAccess':
      return `${mode('danger-full-access')} Nothing limits which files commands read or write. Take care accordingly.`
    case 'readOnly':
      return `${mode('read-only')} Files may be read; writing any file needs approval.`
    case 'workspaceWrite': {
      const roots = [...new Set([cwd, ...workspaceRoots, ...sandbox.writableRoots])].map(inCode)
      return `${mode('workspace-write')} Files may be read everywhere and written in ${roots.join(', ')}; writing elsewhere needs approval.`
    }
    default:
      return sandbox satisfies never
  }
}

function networkText(sandbox: SandboxPolicy): string {
  if (sandbox.type === 'dangerFullAccess') return 'Network: commands may use it.'
  return sandbox.networkAccess ? 'Network: commands may use it.' : 'Network: a command that needs it needs approval.'
}

function approvalText({ approvalPolicy, sandbox, enforced }: Permissions): string {
  switch (approvalPolicy) {
    case 'never':
      return 'Approvals: nobody can be asked (`approval_policy` is `never`). What is not allowed is refused: do not set `sandbox_permissions`, and find another way or say what you could not do.'
    case 'untrusted':
      return 'Approvals: `approval_policy` is `untrusted`. Commands that only read run at once; every other command and every file change is first shown to the user, without you doing anything for it.'
    case 'on-request':
      if (sandbox.type === 'dangerFullAccess') return ASK_FIRST
      return enforced ? `${ON_REQUEST}\n${ESCALATION}` : `${ON_REQUEST}\n${NOT_ENFORCED}\n${ESCALATION}`
    default:
      return approvalPolicy satisfies never
  }
}

const ON_REQUEST = 'Approvals: `approval_policy` is `on-request`. You may ask the user to allow what is not allowed.'

const ASK_FIRST =
  'Approvals: `approval_policy` is `on-request`. Everything is allowed, but ask before you destroy or publish what the user did not tell you to: set `sandbox_permissions` to `require_escalated` and give a `justification`.'

const NOT_ENFORCED =
  'No sandbox of the operating system is available here, so commands that do more than read are shown to the user before they run.'

const ESCALATION = `To ask, call the command again with \`sandbox_permissions\` set to \`require_escalated\` and a \`justification\` that puts one short question to the user, e.g. "May I download the dependencies?". Do not ask in a message first.
- Ask when a command you need writes outside the allowed folders, needs the network or a display, or failed in a way the sandbox explains.
- Ask before destructive steps the user did not order, such as \`rm -rf\` or \`git reset --hard\`.
- You may add a \`prefix_rule\`, the first words of the command (e.g. ["npm", "test"]), which the user can allow for later commands too. Keep it narrow: never an interpreter alone, a destructive command, or one with a here-document.
- If the user declines, do not reach the same end by another way.`

/** A folder may have any name: none may end its quotes, or its line, and go on as our own words. */
const inCode = (path: string): string => `\`${oneLine(path).replaceAll('`', '\\u{60}')}\``

/** Text from outside on one line, its control characters visible. */
export const oneLine = (text: string): string => printable(text).replaceAll('\n', '\\n')

/** XML needs only these; a folder may have any name. */
const escaped = (text: string): string =>
  oneLine(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** `YYYY-MM-DD`; a zone nobody knows counts as UTC. This machine's own needs no `Intl`. */
function dateIn(now: number, timeZone: string): string {
  if (timeZone === zone) return localDate(new Date(now))
  try {
    return new Intl.DateTimeFormat('en-CA', { timeZone }).format(now)
  } catch {
    return new Date(now).toISOString().slice(0, 10)
  }
}

function localDate(date: Date): string {
  const two = (n: number): string => String(n).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
