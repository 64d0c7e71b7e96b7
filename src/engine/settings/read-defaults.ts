import type { JsonObject } from '../../base/json.ts'

/** Codex's keys that its answer always has (0.142.5 and 0.171.0), null when nobody set them. */
export const NULL_KEYS: readonly string[] = `
  agents analytics approval_policy approvals_reviewer apps apps_mcp_product_sku audio auto_review
  background_terminal_max_timeout browser_use chatgpt_base_url check_for_update_on_startup
  cli_auth_credentials_store client_search_provider compact_prompt computer_use debug default_permissions desktop
  developer_instructions disable_paste_burst experimental_compact_prompt_file
  experimental_realtime_start_instructions experimental_realtime_webrtc_call_base_url
  experimental_realtime_ws_backend_prompt experimental_realtime_ws_base_url experimental_realtime_ws_model
  experimental_realtime_ws_startup_context experimental_thread_config_endpoint experimental_thread_store
  experimental_thread_store_endpoint experimental_use_unified_exec_tool feedback file_opener
  forced_chatgpt_workspace_id forced_login_method ghost_snapshot hooks include_apps_instructions
  include_collaboration_mode_instructions include_environment_context include_permissions_instructions
  instructions js_repl_node_module_dirs js_repl_node_path log_dir mcp_oauth_callback_port mcp_oauth_callback_url
  mcp_oauth_credentials_store memories model model_auto_compact_token_limit model_auto_compact_token_limit_scope
  model_catalog_json model_context_window model_instructions_file model_provider model_reasoning_effort
  model_reasoning_summary model_supports_reasoning_summaries model_verbosity notice notify openai_base_url
  orchestrator oss_provider otel permissions personality plan_mode_reasoning_effort profile realtime review_model
  sandbox_mode sandbox_workspace_write service_tier show_raw_agent_reasoning skills sqlite_home
  suppress_unstable_features_warning tool_output_token_limit tool_suggest tools tui web_search windows
`
  .trim()
  .split(/\s+/)

/** Codex's keys that have a value when nobody set them. */
export const DEFAULTS: JsonObject = {
  hide_agent_reasoning: false,
  project_doc_max_bytes: 32768,
  project_doc_fallback_filenames: [],
  allow_login_shell: true,
  history: { persistence: 'save-all', max_bytes: null },
  shell_environment_policy: {
    inherit: null,
    ignore_default_excludes: null,
    exclude: null,
    set: null,
    include_only: null,
    experimental_use_profile: null,
  },
  features: {},
  model_providers: {},
  mcp_servers: {},
  profiles: {},
  plugins: {},
  marketplaces: {},
}

/** Fields that every provider has. */
export const PROVIDER: JsonObject = {
  name: null,
  base_url: null,
  env_key: null,
  env_key_instructions: null,
  experimental_bearer_token: null,
  auth: null,
  aws: null,
  wire_api: 'responses',
  query_params: null,
  http_headers: null,
  env_http_headers: null,
  request_max_retries: null,
  stream_max_retries: null,
  stream_idle_timeout_ms: null,
  websocket_connect_timeout_ms: null,
  requires_openai_auth: false,
  supports_websockets: false,
}

/** Fields that every MCP server has. */
export const MCP_SERVER: JsonObject = { environment_id: 'local', enabled: true, tool_timeout_sec: null }

/** Fields of `sandbox_workspace_write`, where any is set. */
export const WORKSPACE_WRITE: JsonObject = {
  writable_roots: [],
  network_access: false,
  exclude_tmpdir_env_var: false,
  exclude_slash_tmp: false,
}
