import type { Goal } from '../events.ts'
import type { ToolSpec } from '../models/model.ts'
import { badArguments, complain, failed, parseArguments, said } from './args.ts'
import type { Tool } from './tool.ts'

/** What the tools may do to their thread's goal. */
export interface GoalAccess {
  readonly goal: Goal | null
  /** Ends the work on the goal. */
  settleGoal(turnId: string, status: 'complete' | 'blocked'): Goal
}

const GET_GOAL: ToolSpec = {
  name: 'get_goal',
  description: "Reads this thread's goal: its text, its status, and the tokens and time it has cost.",
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
}

const UPDATE_GOAL: ToolSpec = {
  name: 'update_goal',
  description:
    'Ends the work on the goal: "complete" only when you have checked that all of it is reached, "blocked" when only ' +
    'the user can help it on.',
  parameters: {
    type: 'object',
    properties: { status: { type: 'string', enum: ['complete', 'blocked'], description: 'How the work ends.' } },
    required: ['status'],
    additionalProperties: false,
  },
}

/** `get_goal` and `update_goal`, for a thread that has a goal. */
export const goalTools = (access: GoalAccess): readonly Tool[] => [
  { spec: GET_GOAL, run: async () => said(shown(access.goal)) },
  {
    spec: UPDATE_GOAL,
    async run(call, cx) {
      const args = parseArguments(call.args, all => readStatus(all.text('status')))
      if (!args.ok) return badArguments(args.error)
      if (!access.goal) return failed('This thread has no goal any more.')
      return said(shown(access.settleGoal(cx.turnId, args.value)))
    },
  },
]

function readStatus(status: string): 'complete' | 'blocked' {
  if (status === 'complete' || status === 'blocked') return status
  return complain(`unknown variant \`${status}\`, expected \`complete\` or \`blocked\``)
}

function shown(goal: Goal | null): string {
  if (!goal) return JSON.stringify({ goal: null })
  const { objective, status, tokenBudget, tokensUsed, timeUsedMs } = goal
  const remainingTokens = tokenBudget === null ? null : Math.max(0, tokenBudget - tokensUsed)
  const timeUsedSeconds = Math.floor(timeUsedMs / 1000)
  return JSON.stringify({ goal: { objective, status, tokenBudget, tokensUsed, timeUsedSeconds }, remainingTokens })
}
