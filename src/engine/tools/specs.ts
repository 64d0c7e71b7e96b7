import type { ToolSpec } from '../models/model.ts'

/** The tools as models see them. Names and arguments are codex's, which models are trained on; the sentences are ours. */

const text = (description: string): object => ({ type: 'string', description })
const count = (description: string): object => ({ type: 'number', description })
const flag = (description: string): object => ({ type: 'boolean', description })

const object = (properties: Readonly<Record<string, object>>, required: readonly string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const ESCALATION: Readonly<Record<string, object>> = {
  sandbox_permissions: {
    type: 'string',
    enum: ['use_default', 'require_escalated'],
    description: 'Use "require_escalated" for a command that needs more than the sandbox allows; a person is asked.',
  },
  justification: text('With "require_escalated" only: one short question to the person that says why it is needed.'),
  prefix_rule: {
    type: 'array',
    items: { type: 'string' },
    description: 'With "require_escalated" only: first words of the command that could be allowed from now on.',
  },
}

export const EXEC_COMMAND: ToolSpec = {
  name: 'exec_command',
  description: 'Runs a command line in a shell and returns what it prints and how it exits.',
  parameters: object(
    {
      cmd: text('The command line to run.'),
      workdir: text('Folder to run it in; the folder of the session if left out.'),
      shell: text("Shell to run it with; the user's own if left out."),
      login: flag('Whether the shell has the environment of a login shell. Default: true.'),
      tty: flag('Whether the command wants a terminal. Default: false.'),
      yield_time_ms: count('Milliseconds to wait for output. A command is waited for until it ends.'),
      max_output_tokens: count('Most tokens of output to return; the middle of longer output is left out.'),
      ...ESCALATION,
    },
    ['cmd'],
  ),
}

export const SHELL_COMMAND: ToolSpec = {
  name: 'shell_command',
  description:
    'Runs a command line in the shell of the user and returns what it prints and how it exits. Always set `workdir` ' +
    'rather than using `cd`.',
  parameters: object(
    {
      command: text('The command line to run.'),
      workdir: text('Folder to run it in; the folder of the session if left out.'),
      timeout_ms: count('Milliseconds after which the command is stopped. Default: 10000.'),
      login: flag('Whether the shell has the environment of a login shell. Default: true.'),
      ...ESCALATION,
    },
    ['command'],
  ),
}

export const UPDATE_PLAN: ToolSpec = {
  name: 'update_plan',
  description:
    'Shows the person what you are going to do, as a list of steps, and how far you are. Give the whole list each time. ' +
    'At most one step is in progress.',
  parameters: object(
    {
      explanation: text('Why the plan changed, if it did.'),
      plan: {
        type: 'array',
        description: 'The steps, in order.',
        items: object(
          {
            step: text('What is done in this step, in a few words.'),
            status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] },
          },
          ['step', 'status'],
        ),
      },
    },
    ['plan'],
  ),
}

/** The format of patches, as a grammar (Lark) for models that take freeform tools. */
const PATCH_GRAMMAR = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`

export const APPLY_PATCH_FREEFORM: ToolSpec = {
  name: 'apply_patch',
  description: 'Changes files. The input is the patch itself, not JSON.',
  grammar: PATCH_GRAMMAR,
}

export const APPLY_PATCH_FUNCTION: ToolSpec = {
  name: 'apply_patch',
  description: `Changes files: adds, updates, moves and deletes them with one patch. The patch is text of this form:

*** Begin Patch
*** Add File: docs/new.md
+every line of a new file starts with a plus
*** Update File: src/a.ts
*** Move to: src/b.ts
@@ export function hello
 a line that stays, for finding the place
-a line that goes
+a line that comes
*** Delete File: src/old.ts
*** End Patch

"*** Move to:" is optional. "@@" starts a change; after it may stand a line that comes before the place, such as the head of
the function. Give about three lines that stay before and after each change. "*** End of File" after a change ties it to
the end of the file. Paths are relative to the folder of the session.`,
  parameters: object({ input: text('The whole patch, from "*** Begin Patch" to "*** End Patch".') }, ['input']),
}
