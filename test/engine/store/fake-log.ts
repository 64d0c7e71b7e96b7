import type { Header } from '../../../src/engine/store/records.ts'
import { settings } from '../../support/scripted.ts'

/** The header of a thread of 9 September 2001. */
export const header: Header = {
  t: 'thread',
  v: 1,
  id: '00e8d4a5-1000-7000-8000-000000000001',
  sessionId: '00e8d4a5-1000-7000-8000-000000000001',
  forkedFrom: null,
  createdAt: 1_000_000_000_000,
  source: 'vscode',
  threadSource: null,
  originator: 'test',
  cliVersion: '1',
  gitInfo: null,
  settings,
  config: {},
}
