import { readFileSync } from 'node:fs'

/** What the pins do not tell and a person wrote down, in `protocol-vendored/overrides.json`. */
export interface Overrides {
  /** Result types that are not named after their method's params. */
  readonly responses: { readonly [method: string]: string }
  /** Params types of notifications that the schemas' lists of methods leave out. */
  readonly params: { readonly [method: string]: string }
  /** Notifications that only connections with the experimental capability get; both schemas list them all. */
  readonly experimentalNotifications: readonly string[]
  /** Fields that the TypeScript export calls required and that a real server leaves out where they would be null; measured. */
  readonly omittedWhenNull: readonly string[]
  /** Strings of params that codex reads as paths, relative ones too; measured, and seen only in the text of a wrong type. */
  readonly pathFields: readonly string[]
  /** Tagged types whose objects may leave the tag out, with the variant they are then; measured. */
  readonly untagged: { readonly [type: string]: string }
  /** Enum variants that need the capability, with the name the refusal gives them. */
  readonly experimentalVariants: readonly { readonly field: string; readonly variant: string; readonly name: string }[]
}

export function readOverrides(): Overrides {
  return JSON.parse(readFileSync(new URL('../../protocol-vendored/overrides.json', import.meta.url), 'utf8'))
}
