import type { Fields, Kind } from './schema.ts'

const string: Kind = { is: 'string' }
const path: Kind = { is: 'path' }
const boolean: Kind = { is: 'boolean' }
const i64: Kind = { is: 'i64' }
const u64: Kind = { is: 'u64' }
const usize: Kind = { is: 'usize' }
const list = (of: Kind): Kind => ({ is: 'list', of })
const map = (of: Kind): Kind => ({ is: 'map', of })
const variant = (...names: string[]): Kind => ({ is: 'variant', names })
const table = (name: string, fields: Fields): Kind => ({ is: 'table', name, fields })

/** Where a provider's requests go and in which of the wires they are written. */
const provider = table('ModelProviderInfo', {
  name: string,
  base_url: string,
  env_key: string,
  env_key_instructions: string,
  experimental_bearer_token: string,
  wire_api: variant('responses', 'chat', 'anthropic', 'google', 'offline'),
  query_params: map(string),
  http_headers: map(string),
  env_http_headers: map(string),
  request_max_retries: u64,
  stream_max_retries: u64,
  stream_idle_timeout_ms: u64,
  requires_openai_auth: boolean,
  supports_websockets: boolean,
  script_file: path,
})

const mcpServer = table('McpServerConfig', {
  command: string,
  args: list(string),
  env: map(string),
  cwd: path,
  url: string,
  bearer_token_env_var: string,
  http_headers: map(string),
  env_http_headers: map(string),
  enabled: boolean,
  enabled_tools: list(string),
  disabled_tools: list(string),
})

/** A feature is on or off; a few of codex's have a table of their own, which is let through. */
const features: Kind = { is: 'map', of: { is: 'boolean', orTable: true }, name: 'FeaturesToml', flat: true }

/** Words of `approval_policy`, in the order codex lists them. */
const approvalPolicy: Kind = {
  is: 'variant',
  names: ['untrusted', 'on-failure', 'on-request', 'granular', 'never'],
  orTable: true,
}

const common: Fields = {
  model: string,
  model_provider: string,
  model_reasoning_effort: string,
  model_reasoning_summary: variant('auto', 'concise', 'detailed', 'none'),
  model_verbosity: variant('low', 'medium', 'high'),
  model_instructions_file: path,
  personality: variant('none', 'friendly', 'pragmatic'),
  service_tier: string,
  approval_policy: approvalPolicy,
  sandbox_mode: variant('read-only', 'workspace-write', 'danger-full-access'),
  features,
}

/**
 * Every key whose value is checked. Key names are codex's, so that a copied config.toml works; the last group is
 * Skein's. Keys that stand here and mean nothing to the engine are checked because codex checks them.
 */
export const KEYS: Fields = {
  ...common,
  model_context_window: i64,
  model_auto_compact_token_limit: i64,
  model_providers: map(provider),
  model_supports_reasoning_summaries: boolean,
  profile: string,
  review_model: string,
  default_permissions: string,
  approvals_reviewer: variant('user', 'auto_review', 'guardian_subagent'),
  sandbox_workspace_write: table('SandboxWorkspaceWrite', {
    writable_roots: list(path),
    network_access: boolean,
    exclude_tmpdir_env_var: boolean,
    exclude_slash_tmp: boolean,
  }),
  project_root_markers: list(string),
  project_doc_max_bytes: usize,
  project_doc_fallback_filenames: list(string),
  projects: map(table('ProjectConfig', { trust_level: variant('trusted', 'untrusted') })),
  profiles: map(table('ConfigProfile', common)),
  instructions: string,
  developer_instructions: string,
  compact_prompt: string,
  show_raw_agent_reasoning: boolean,
  hide_agent_reasoning: boolean,
  tool_output_token_limit: usize,
  web_search: variant('disabled', 'cached', 'indexed', 'live'),
  mcp_servers: map(mcpServer),
  notify: list(string),
  history: table('History', { persistence: variant('save-all', 'none'), max_bytes: usize }),
  tui: table('Tui', {}),
  shell_environment_policy: table('ShellEnvironmentPolicyToml', {}),

  codex_version: { is: 'version' },
  durability: variant('full', 'process'),
  approvals: table('Approvals', { unattended_ms: u64 }),
}

/**
 * What a trusted project's own `.skein/config.toml` may set. Left out is everything that runs code, chooses where
 * requests and keys go, reads or opens files elsewhere, or trusts further folders: a pull must not bring that along.
 * `approval_policy` and `sandbox_mode` may only get stricter (see project.ts).
 */
export const PROJECT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'model_reasoning_effort',
  'model_reasoning_summary',
  'model_verbosity',
  'model_context_window',
  'model_auto_compact_token_limit',
  'personality',
  'service_tier',
  'approval_policy',
  'sandbox_mode',
  'project_doc_max_bytes',
  'project_doc_fallback_filenames',
  'developer_instructions',
  'show_raw_agent_reasoning',
  'hide_agent_reasoning',
  'tool_output_token_limit',
])
