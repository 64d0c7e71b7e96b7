/** A value without parts. Numbers are named as in Rust, because codex's texts name them so; a `path` is absolute, a `file` any path. */
export type Primitive =
  | 'any'
  | 'null'
  | 'boolean'
  | 'string'
  | 'path'
  | 'file'
  | 'u8'
  | 'u16'
  | 'u32'
  | 'u64'
  | 'usize'
  | 'i32'
  | 'i64'
  | 'f64'

/**
 * What a value of the protocol looks like, in the terms of the program that defines it: structs, and the kinds of enums that
 * its JSON knows. `#Name` refers to a named shape.
 */
export type Shape = Primitive | `#${string}` | Option | List | Dict | Struct | Tagged | Variants | Either

export interface Shapes {
  readonly [name: string]: Shape
}

/** The shape or null. */
export interface Option {
  readonly option: Shape
}

export interface List {
  readonly list: Shape
}

/** An object with keys of the peer's choice. */
export interface Dict {
  readonly dict: Shape
}

export interface Struct {
  /** Name that a text about the struct uses. */
  readonly struct: string
  /** In declaration order. */
  readonly fields: Shapes
  /** The fields that must be there, in declaration order. */
  readonly required: readonly string[]
  /** Whether other keys are refused (`closed`) or part of the type (`open`); without it they are ignored. */
  readonly keys?: 'closed' | 'open'
  /** How many of the fields a text counts; absent: all. */
  readonly known?: number
}

/** Objects that say in the field `tag` which variant they are. */
export interface Tagged {
  readonly tagged: string
  readonly tag: string
  /** In declaration order; the first `known` are those a text lists. */
  readonly variants: Shapes
  readonly known: number
  /** The variant of an object that does not say; without it, that is a fault. */
  readonly untagged?: string
}

/** A string, or an object with one key; null where the variant is a plain string. */
export interface Variants {
  readonly variants: { readonly [name: string]: Shape | null }
  /** In declaration order; the first `known` are those a text lists. */
  readonly known: number
}

/** Any of several shapes that nothing tells apart but trying; `name` is null where the two pins differ. */
export interface Either {
  readonly either: readonly Shape[]
  readonly name: string | null
}
