import type { Part } from './model.ts'

/** What stands in place of an image for a model that takes none. */
export const NO_IMAGES = '(an image was left out: this model takes text only)'

/** The texts of `parts` in one string. */
export const textsOf = (parts: readonly Part[]): string =>
  parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')

/** Whether any of `parts` is an image. */
export const hasImages = (parts: readonly Part[]): boolean => parts.some(part => part.type === 'image')
