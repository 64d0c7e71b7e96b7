import type { Step } from '../mock/step.ts'
import type { Stage } from './stage.ts'

/** One recorded conversation: what surrounds the server, what the model answers, and what the clients do. */
export interface Scenario {
  readonly name: string
  readonly about: string
  /** Answers of the model, in order. */
  readonly script?: readonly Step[]
  readonly setting?: Setting
  readonly run: (stage: Stage) => Promise<void>
}

/** How a scenario's config.toml and working folder differ from those of the others. */
export interface Setting {
  readonly model?: string
  readonly approval?: string
  readonly sandbox?: string
  /** Lines before the first table. */
  readonly top?: string
  /** Lines of `[features]`. */
  readonly features?: string
  /** Tables at the end. */
  readonly tables?: string
  readonly requestRetries?: number
  readonly streamRetries?: number
  /** Files of the working folder. */
  readonly files?: Readonly<Record<string, string | Buffer>>
  /** More arguments for the server. */
  readonly args?: readonly string[]
}

/** The config.toml of a scenario whose model listens at `port`. */
export function configToml(setting: Setting, port: number, cwd: string): string {
  return `model = ${JSON.stringify(setting.model ?? 'gpt-5.4')}
model_provider = "mock"
project_root_markers = []
approval_policy = ${JSON.stringify(setting.approval ?? 'never')}
sandbox_mode = ${JSON.stringify(setting.sandbox ?? 'danger-full-access')}
${setting.top ?? ''}
[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"
request_max_retries = ${setting.requestRetries ?? 0}
stream_max_retries = ${setting.streamRetries ?? 0}
supports_websockets = false
[projects.${JSON.stringify(cwd)}]
trust_level = "trusted"
[features]
${setting.features ?? ''}
${setting.tables ?? ''}
`
}

/** Text input of a turn. */
export const text = (text: string): readonly object[] => [{ type: 'text', text }]

/** A model step that runs a command. */
export function command(cmd: string, more: Readonly<Record<string, unknown>> = {}): Step {
  return { calls: [{ name: 'exec_command', args: { cmd, ...more } }] }
}

/** An id that no thread or turn has. */
export const NOBODY = '00000000-0000-7000-8000-000000000000'

/** A picture of one pixel. */
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
