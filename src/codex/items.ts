import type { CommandAction, FileChange, Input, Item, ToolContent } from '../engine/items.ts'
import type {
  DynamicToolCallOutputContentItem,
  FileUpdateChange,
  ImageDetail,
  ThreadItem,
  UserInput,
  CommandAction as WireAction,
} from '../protocol/codex/types.gen.ts'

/** An engine item in codex's words. */
export function toItem(item: Item): ThreadItem {
  switch (item.type) {
    case 'userMessage':
      return { type: 'userMessage', id: item.id, clientId: item.clientId, content: item.content.map(toInput) }
    case 'agentMessage':
      return {
        type: 'agentMessage',
        id: item.id,
        text: item.text,
        phase: item.phase === 'finalAnswer' ? 'final_answer' : item.phase,
        memoryCitation: null,
        moderation: null,
        delivery: null,
        questions: null,
      }
    case 'reasoning':
      return { type: 'reasoning', id: item.id, summary: [...item.summary], content: [...item.content] }
    case 'plan':
      return { type: 'plan', id: item.id, text: item.text }
    case 'command':
      return {
        type: 'commandExecution',
        id: item.id,
        command: item.command,
        cwd: item.cwd,
        processId: item.processId,
        source: SOURCES[item.source],
        status: item.status,
        commandActions: item.actions.map(toAction),
        aggregatedOutput: item.output,
        exitCode: item.exitCode,
        durationMs: item.durationMs,
        pluginId: null,
        scriptPath: null,
      }
    case 'fileChange':
      return { type: 'fileChange', id: item.id, changes: item.changes.map(toChange), status: item.status }
    case 'clientTool':
      return {
        type: 'dynamicToolCall',
        id: item.id,
        namespace: item.namespace,
        tool: item.tool,
        arguments: item.arguments as never,
        status: item.status,
        contentItems: item.content?.map(toContent) ?? null,
        success: item.success,
        durationMs: item.durationMs,
      }
    case 'compaction':
      return { type: 'contextCompaction', id: item.id }
    default:
      return item satisfies never
  }
}

/**
 * An item as history shows it: a command that has ended is one of the agent's, wherever it was started. The TUI of 0.142.5
 * leaves out what it takes for the start of a background session when no turn runs, and with it every command's output.
 */
export function toPastItem(item: Item): ThreadItem {
  const isOver = item.type === 'command' && item.source === 'sessionStartup' && item.status !== 'inProgress'
  return toItem(isOver ? { ...item, source: 'agent' } : item)
}

const SOURCES = {
  agent: 'agent',
  userShell: 'userShell',
  sessionStartup: 'unifiedExecStartup',
  sessionInteraction: 'unifiedExecInteraction',
} as const

/** What a person put in, as clients know it. */
export function toInput(input: Input): UserInput {
  switch (input.type) {
    case 'text': {
      const elements = input.elements.map(e => ({
        byteRange: { start: e.start, end: e.end },
        placeholder: e.placeholder,
      }))
      return { type: 'text', text: input.text, text_elements: elements }
    }
    case 'image':
      return { type: 'image', url: input.url, detail: detailOf(input) }
    case 'localImage':
      return { type: 'localImage', path: input.path, detail: detailOf(input) }
    case 'skill':
    case 'mention':
      return { type: input.type, name: input.name, path: input.path }
    default:
      return input satisfies never
  }
}

const detailOf = ({ detail }: { readonly detail?: string }): ImageDetail | null =>
  (detail as ImageDetail | undefined) ?? null

export function toAction(action: CommandAction): WireAction {
  switch (action.type) {
    case 'read':
      return { type: 'read', command: action.command, name: action.name, path: action.path }
    case 'list':
      return { type: 'listFiles', command: action.command, path: action.path }
    case 'search':
      return { type: 'search', command: action.command, query: action.query, path: action.path }
    case 'unknown':
      return { type: 'unknown', command: action.command }
    default:
      return action satisfies never
  }
}

function toChange(change: FileChange): FileUpdateChange {
  const kind =
    change.kind === 'update' ? { type: 'update' as const, move_path: change.movePath } : { type: change.kind }
  return { path: change.path, kind, diff: change.diff }
}

const toContent = (content: ToolContent): DynamicToolCallOutputContentItem =>
  content.type === 'text' ? { type: 'inputText', text: content.text } : { type: 'inputImage', imageUrl: content.url }
