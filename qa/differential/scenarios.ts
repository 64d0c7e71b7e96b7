import type { Scenario } from './scenario.ts'
import { approvals } from './scenarios/approvals.ts'
import { connections } from './scenarios/connections.ts'
import { failures } from './scenarios/failures.ts'
import { handshake } from './scenarios/handshake.ts'
import { services } from './scenarios/services.ts'
import { threads } from './scenarios/threads.ts'
import { tools } from './scenarios/tools.ts'
import { turns } from './scenarios/turns.ts'

/** Every scenario that has a golden. */
export const scenarios: readonly Scenario[] = [
  ...handshake,
  ...turns,
  ...approvals,
  ...failures,
  ...threads,
  ...tools,
  ...connections,
  ...services,
]
