/** A model whose facts are known. What a client's model picker shows of it stands here; nothing is computed. */
export interface CatalogueModel {
  readonly id: string
  readonly displayName: string
  readonly description: string
  /** Shown only to clients that ask for hidden models. */
  readonly hidden: boolean
  readonly efforts: readonly Effort[]
  readonly defaultEffort: string
  readonly images: boolean
  /** Tokens of input and output together. */
  readonly contextWindow: number
  readonly freeformTools: boolean
  readonly verbosity: string | null
  /** Reasoning summary it is asked for when a thread asks for none in particular. */
  readonly summary: string | null
  readonly supportsPersonality: boolean
  readonly speedTiers: readonly string[]
  readonly serviceTiers: readonly ServiceTier[]
  /** Id of the model that its provider recommends in its place. */
  readonly upgrade: string | null
}

export interface Effort {
  readonly effort: string
  readonly description: string
}

export interface ServiceTier {
  readonly id: string
  readonly name: string
  readonly description: string
}

const EFFORTS: readonly Effort[] = [
  { effort: 'low', description: 'Fast responses with lighter reasoning' },
  { effort: 'medium', description: 'Balances speed and reasoning depth for everyday tasks' },
  { effort: 'high', description: 'Greater reasoning depth for complex problems' },
  { effort: 'xhigh', description: 'Extra high reasoning depth for complex problems' },
]

const EFFORTS_5_2: readonly Effort[] = [
  {
    effort: 'low',
    description: 'Balances speed with some reasoning; useful for straightforward queries and short explanations',
  },
  {
    effort: 'medium',
    description: 'Provides a solid balance of reasoning depth and latency for general-purpose tasks',
  },
  { effort: 'high', description: 'Maximizes reasoning depth for complex or ambiguous problems' },
  { effort: 'xhigh', description: 'Extra high reasoning for complex problems' },
]

const FAST = {
  speedTiers: ['fast'],
  serviceTiers: [{ id: 'priority', name: 'Fast', description: '1.5x speed, increased usage' }],
} as const

const GPT = {
  hidden: false,
  efforts: EFFORTS,
  defaultEffort: 'medium',
  images: true,
  contextWindow: 272_000,
  freeformTools: true,
  verbosity: 'low',
  summary: null,
  supportsPersonality: true,
  speedTiers: [],
  serviceTiers: [],
  upgrade: null,
} as const

/** OpenAI's models as codex 0.142.5 lists them (its model/list and its requests), in its order. */
export const OPENAI_MODELS: readonly CatalogueModel[] = [
  {
    ...GPT,
    ...FAST,
    id: 'gpt-5.5',
    displayName: 'GPT-5.5',
    description: 'Frontier model for complex coding, research, and real-world work.',
  },
  { ...GPT, ...FAST, id: 'gpt-5.4', displayName: 'gpt-5.4', description: 'Strong model for everyday coding.' },
  {
    ...GPT,
    id: 'gpt-5.4-mini',
    displayName: 'GPT-5.4-Mini',
    description: 'Small, fast, and cost-efficient model for simpler coding tasks.',
  },
  {
    ...GPT,
    id: 'gpt-5.3-codex',
    displayName: 'gpt-5.3-codex',
    description: 'Coding-optimized model.',
    upgrade: 'gpt-5.4',
  },
  {
    ...GPT,
    id: 'gpt-5.2',
    displayName: 'gpt-5.2',
    description: 'Optimized for professional work and long-running agents.',
    efforts: EFFORTS_5_2,
    summary: 'auto',
    supportsPersonality: false,
    upgrade: 'gpt-5.4',
  },
  {
    ...GPT,
    id: 'codex-auto-review',
    displayName: 'Codex Auto Review',
    description: 'Automatic approval review model for Codex.',
    hidden: true,
  },
]

/** The scripted model that ships with Skein. */
export const OFFLINE_MODEL: CatalogueModel = {
  ...GPT,
  id: 'offline',
  displayName: 'Offline',
  description: 'Scripted model that needs no key and no network.',
  efforts: [{ effort: 'none', description: 'It does not reason' }],
  defaultEffort: 'none',
  verbosity: null,
  supportsPersonality: false,
}
