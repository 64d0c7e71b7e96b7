import { basename } from 'node:path'
import type { ThreadSettings } from '../events.ts'
import { type Header, LOG_VERSION } from './records.ts'

const NAME = /^rollout-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-([0-9a-f-]{36})\.jsonl$/i

/** Whether a file of this name is a thread's log. */
export const isLog = (name: string): boolean => NAME.test(name)

/** The thread id in a log's name; empty for another file. */
export const idOf = (path: string): string => (NAME.exec(basename(path))?.[5] ?? '').toLowerCase()

/**
 * What a log's name tells of its thread, for a log whose header cannot be read. `settings`: what else of it is known; a
 * thread whose settings are lost asks for no model, so that it gets the default one.
 */
export function headerFromName(path: string, settings: ThreadSettings | null): Header | null {
  const [, day = '', hour = '', minute = '', second = ''] = NAME.exec(basename(path)) ?? []
  const createdAt = Date.parse(`${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(createdAt)) return null
  const id = idOf(path)
  return {
    t: 'thread',
    v: LOG_VERSION,
    id,
    sessionId: id,
    forkedFrom: null,
    createdAt,
    source: 'vscode',
    threadSource: null,
    originator: null,
    cliVersion: '',
    gitInfo: null,
    settings: settings ?? LOST,
    config: {},
  }
}

const LOST: ThreadSettings = {
  model: '',
  provider: '',
  cwd: '/',
  workspaceRoots: [],
  approvalPolicy: 'on-request',
  sandbox: { type: 'readOnly', networkAccess: false },
  permissionProfile: null,
  effort: null,
  summary: null,
  serviceTier: null,
  personality: null,
  mode: 'default',
  modeInstructions: null,
  baseInstructions: null,
  developerInstructions: null,
}
