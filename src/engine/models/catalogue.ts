import { type CatalogueModel, type Effort, OFFLINE_MODEL, OPENAI_MODELS } from './catalogue-data.ts'
import type { ModelInfo } from './model.ts'
import type { ProviderConfig } from './provider.ts'

/** Share of a context window that codex uses and reports; the rest is kept for instructions and the answer. */
const USABLE = 0.95

/** Window that codex assumes for a model it does not know. */
const FALLBACK_WINDOW = 272_000

/** What can be asked of a model nobody knows. `none` comes first: asking it to reason may be refused. */
const UNKNOWN_EFFORTS: readonly Effort[] = [
  { effort: 'none', description: 'Leaves reasoning to the model' },
  { effort: 'low', description: 'Asks for light reasoning' },
  { effort: 'medium', description: 'Asks for balanced reasoning' },
  { effort: 'high', description: 'Asks for deep reasoning' },
]

/** The known models of a wire: OpenAI's names mean the same behind every provider that speaks the Responses API. */
export function knownModels(provider: ProviderConfig): readonly CatalogueModel[] {
  if (provider.wire === 'offline') return [OFFLINE_MODEL]
  return provider.wire === 'responses' ? OPENAI_MODELS : []
}

/** The known facts about model `id` at `provider`; undefined when nobody knows it. */
export const findModel = (provider: ProviderConfig, id: string): CatalogueModel | undefined =>
  knownModels(provider).find(model => model.id === id)

/** Whether `name` is one of OpenAI's own (`gpt-5.4`, `o3`, `codex-mini`), which clients send whatever runs here. */
export const isOpenAiName = (name: string): boolean => /^(gpt-\d|chatgpt-|codex-|o\d)/.test(name)

/** Model `id` at `provider`, with guesses where nobody knows it. `window` (tokens) is the configured window, or null. */
export function modelInfo(provider: ProviderConfig, id: string, window: number | null): ModelInfo {
  const known = findModel(provider, id)
  const guess = provider.wire === 'responses' ? FALLBACK_WINDOW : null
  const tokens = window ?? known?.contextWindow ?? guess
  return {
    id,
    provider: provider.id,
    displayName: known?.displayName ?? id,
    description: known?.description ?? `A model of ${provider.name}.`,
    efforts: known?.efforts ?? UNKNOWN_EFFORTS,
    defaultEffort: known?.defaultEffort ?? 'none',
    images: known?.images ?? true,
    contextWindow: tokens === null ? null : Math.floor(tokens * USABLE),
    freeformTools: known?.freeformTools ?? false,
    known: known !== undefined,
  }
}

/** Codex's warning for a model that stands in no catalogue; null for one that does. */
export function metadataWarning({ id, known }: ModelInfo): string | null {
  if (known) return null
  return `Model metadata for \`${id}\` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.`
}
