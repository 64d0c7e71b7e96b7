import type { Clock } from '../base/clock.ts'
import type { ContextEntry } from './models/model.ts'
import type { Models } from './models/models.ts'
import type { Settings } from './settings/config.ts'
import { instructionsFor } from './settings/instructions.ts'
import { BASE_INSTRUCTIONS, modeText, personalityText } from './settings/prompt.ts'
import type { SettingsSource } from './settings/settings.ts'
import { environmentContext, localTimezone, permissionsText } from './settings/turn-context.ts'
import type { Thread } from './thread.ts'
import { goalTools } from './tools/goal-tools.ts'
import type { ToolHost } from './tools/host.ts'
import { toolsFor } from './tools/tools.ts'
import type { Prepared } from './turn.ts'

export interface PrepareOptions {
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  readonly now: Clock
  readonly models: Models
  readonly settings: SettingsSource
  readonly host: ToolHost
}

interface Place {
  readonly timezone: string
}

/**
 * Makes the request for one model step of a thread. What the model is told of its surroundings is worked out each time and
 * never recorded: a resumed thread follows today's instructions, and an unchanged one sends the same bytes again, which
 * is what prompt caches want.
 */
export function preparer(options: PrepareOptions): (thread: Thread, outputSchema: unknown) => Promise<Prepared> {
  // Asking for it costs as much as the rest of a request.
  const place = { ...options, timezone: localTimezone() }
  return async (thread, outputSchema) => {
    const { settings } = thread
    const config = options.settings.resolve(thread.scope)
    const { model, retries } = await options.models.open(settings, config)
    thread.contextWindow = model.info.contextWindow
    const command = config.features.unified_exec === false ? 'shell_command' : 'exec_command'
    const common = toolsFor({ host: options.host, model: model.info, clientTools: thread.clientTools, command })
    const tools = thread.goal ? [...common, ...goalTools(thread)] : common
    return {
      model,
      tools,
      retries,
      request: {
        instructions: settings.baseInstructions ?? BASE_INSTRUCTIONS,
        context: [...surroundings(thread, config, place), ...thread.context],
        tools: tools.map(tool => tool.spec),
        effort: settings.effort,
        summary: settings.summary,
        serviceTier: settings.serviceTier,
        outputSchema,
        cacheKey: thread.id,
      },
    }
  }
}

/** What comes before the conversation: permissions and wishes as developer text, files and place as user text. */
function surroundings(thread: Thread, config: Settings, place: PrepareOptions & Place): readonly ContextEntry[] {
  const { home, env, now, timezone } = place
  const { settings } = thread
  const developer = [
    permissionsText({ ...settings, enforced: false }),
    settings.developerInstructions,
    personalityText(settings.personality),
    settings.mode === 'plan' || settings.modeInstructions !== null
      ? modeText(settings.mode, settings.modeInstructions)
      : null,
  ]
  const shell = (env.SHELL ?? 'bash').split('/').at(-1) ?? 'bash'
  const user = [
    instructionsFor(config, { home, cwd: settings.cwd }).text,
    environmentContext({ cwd: settings.cwd, shell, now: now(), timezone }),
  ]
  return [message('developer', developer), message('user', user)]
}

function message(role: 'developer' | 'user', texts: readonly (string | null)[]): ContextEntry {
  const parts = texts.filter(text => text !== null && text !== '').map(text => ({ type: 'text' as const, text: text! }))
  return { type: 'message', role, parts }
}
