import type { ListedModel } from '../engine/models/listing.ts'
import type { Model } from '../protocol/codex/types.gen.ts'

/** A model as codex's pickers show it. The default effort is always one of the list: clients send it back. */
export function toModel(listed: ListedModel): Model {
  const { info } = listed
  return {
    id: listed.name,
    model: listed.name,
    upgrade: listed.upgrade,
    upgradeInfo: null,
    availabilityNux: null,
    displayName: info.displayName,
    description: info.description,
    hidden: listed.hidden,
    supportedReasoningEfforts: info.efforts.map(({ effort, description }) => ({
      reasoningEffort: effort,
      description,
    })),
    defaultReasoningEffort: info.defaultEffort,
    inputModalities: info.images ? ['text', 'image'] : ['text'],
    supportsPersonality: listed.supportsPersonality,
    additionalSpeedTiers: [...listed.speedTiers],
    serviceTiers: listed.serviceTiers.map(tier => ({ ...tier })),
    defaultServiceTier: null,
    isDefault: listed.isDefault,
    modelSpecialty: null,
    multiAgentVersion: null,
    availableAccessPrograms: null,
  }
}
