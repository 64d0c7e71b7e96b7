import { isObject } from '../../base/json.ts'
import type { PlanStep } from '../events.ts'
import { badArguments, complain, failed, parseArguments, said } from './args.ts'
import { UPDATE_PLAN } from './specs.ts'
import type { Tool } from './tool.ts'

/** `update_plan`: the checklist that a model keeps for the person who watches. It does nothing but show it. */
export const updatePlan: Tool = {
  spec: UPDATE_PLAN,
  async run(call, cx) {
    if (cx.settings.mode === 'plan') {
      return failed('update_plan is a TODO/checklist tool and is not allowed in Plan mode')
    }
    const args = parseArguments(call.args, all => ({
      explanation: all.optionalText('explanation'),
      plan: all.list('plan').map(readStep),
    }))
    if (!args.ok) return badArguments(args.error)
    cx.plan(args.value.explanation, args.value.plan)
    return said('Plan updated')
  },
}

const STATUSES: Readonly<Record<string, PlanStep['status']>> = {
  pending: 'pending',
  in_progress: 'inProgress',
  inProgress: 'inProgress',
  completed: 'completed',
}

function readStep(value: unknown): PlanStep {
  if (!isObject(value) || typeof value.step !== 'string') return complain('missing field `step`')
  const status = typeof value.status === 'string' && Object.hasOwn(STATUSES, value.status) && STATUSES[value.status]
  if (status) return { step: value.step, status }
  const given = value.status === undefined ? 'missing field `status`' : `unknown variant \`${String(value.status)}\``
  return complain(`${given}, expected one of \`pending\`, \`in_progress\`, \`completed\``)
}
