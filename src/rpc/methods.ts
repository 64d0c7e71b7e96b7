/**
 * One row of a method table. `handle` gives the result, or a function that makes it: that function runs in the same step
 * that sends the reply, so a snapshot taken in it can miss nothing and repeat nothing.
 */
export interface Method<P, R, Cx> {
  /** Requests in one lane run one at a time, in arrival order. Default: the lane the dialect derives from the params. */
  readonly lane?: ((params: P) => string) | 'none'
  readonly handle: (params: P, cx: Cx) => Answer<R> | Promise<Answer<R>>
}

export type Answer<R> = R | (() => R)

/** Rows for any of a map's methods; a row whose types do not fit its method does not compile. */
export type Methods<M, Cx> = {
  readonly [K in keyof M]?: M[K] extends { params: infer P; result: infer R } ? Method<P, R, Cx> : never
}
