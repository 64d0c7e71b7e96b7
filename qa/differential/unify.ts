import { isObject } from '../../src/base/json.ts'

/** Where two values differ. */
export interface Unequal {
  /** JSON pointer. */
  readonly at: string
  readonly golden: unknown
  readonly ours: unknown
}

/** Something that is not there at all. */
export const ABSENT = Symbol('absent')

const PLACEHOLDER = /<[A-Z][A-Z0-9_]*(?::[^<>]*)?>/g
const NUMBERED = /^<[A-Z_]+_\d+>$|^<ID:.*>$/

/** In a golden rewritten by a difference: any value of the server will do. */
export const ANY = '<ANY>'

/**
 * Which placeholder of a golden stands for which of another recording. Both recordings number theirs by first sight, so a
 * value that only one of them has shifts all later numbers; two recordings agree when some renaming makes them equal.
 */
export class Renaming {
  readonly #forth = new Map<string, string>()
  readonly #back = new Map<string, string>()
  readonly #backFromIds = new Map<string, string>()

  /** Compares two values under this renaming and adds to it; gives where they differ, or null. */
  unify(golden: unknown, ours: unknown, at = ''): Unequal | null {
    if (golden === ANY) return ours === ABSENT ? { at, golden, ours } : null
    if (typeof golden === 'string' && typeof ours === 'string') {
      return this.#strings(golden, ours) ? null : { at, golden, ours }
    }
    if (Array.isArray(golden) && Array.isArray(ours)) return this.#arrays(golden, ours, at)
    if (isObject(golden) && isObject(ours)) return this.#objects(golden, ours, at)
    return golden === ours ? null : { at, golden, ours }
  }

  #arrays(golden: readonly unknown[], ours: readonly unknown[], at: string): Unequal | null {
    for (let index = 0; index < Math.max(golden.length, ours.length); index += 1) {
      const a = index < golden.length ? golden[index] : ABSENT
      const b = index < ours.length ? ours[index] : ABSENT
      const unequal = this.unify(a, b, `${at}/${index}`)
      if (unequal) return unequal
    }
    return null
  }

  #objects(golden: Record<string, unknown>, ours: Record<string, unknown>, at: string): Unequal | null {
    for (const key of new Set([...Object.keys(golden), ...Object.keys(ours)])) {
      const a = Object.hasOwn(golden, key) ? golden[key] : ABSENT
      const b = Object.hasOwn(ours, key) ? ours[key] : ABSENT
      const unequal = this.unify(a, b, `${at}/${key}`)
      if (unequal) return unequal
    }
    return null
  }

  /** The texts around the placeholders must be the same, the placeholders may be renamed. */
  #strings(golden: string, ours: string): boolean {
    // A golden id turned into `<ID:...>` by a difference stands for whatever the server uses there.
    if (golden.startsWith('<ID:') && NUMBERED.test(golden)) return this.#names(golden, ours)
    const names = golden.match(PLACEHOLDER) ?? []
    const others = ours.match(PLACEHOLDER) ?? []
    if (names.length !== others.length) return false
    const around = golden.split(PLACEHOLDER).join('\u0000') === ours.split(PLACEHOLDER).join('\u0000')
    return around && names.every((name, index) => this.#names(name, others[index] ?? ''))
  }

  #names(golden: string, ours: string): boolean {
    if (!NUMBERED.test(golden)) return golden === ours
    // An id that we mean to keep where the golden numbers anew stands for one that has a name already.
    const back = golden.startsWith('<ID:') ? this.#backFromIds : this.#back
    const known = this.#forth.get(golden)
    const owner = back.get(ours)
    if (known === undefined && owner === undefined) {
      this.#forth.set(golden, ours)
      back.set(ours, golden)
      return true
    }
    return known === ours && owner === golden
  }
}
