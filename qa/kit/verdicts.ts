/** Gathers one verdict a check and prints it at once: `ok NAME` or `FAIL NAME: reason`, then the total. */
export class Verdicts {
  #passed = 0
  #failed = 0
  readonly #print: (line: string) => void

  constructor(print: (line: string) => void = line => console.log(line)) {
    this.#print = print
  }

  ok(name: string): void {
    this.#passed += 1
    this.#print(`ok ${name}`)
  }

  /** `details` stand below the verdict, indented; the reason stays one line. */
  fail(name: string, reason: string, details = ''): void {
    this.#failed += 1
    this.#print(`FAIL ${name}: ${reason.split('\n')[0] ?? ''}`)
    const rest = [...reason.split('\n').slice(1), ...details.split('\n')].filter(line => line !== '')
    for (const line of rest) this.#print(`    ${line}`)
  }

  /** Says something that is no verdict. */
  note(text: string): void {
    this.#print(`# ${text}`)
  }

  /** Runs one check: it fails when `check` throws. Gives whether it passed. */
  async check(name: string, check: () => Promise<unknown> | unknown): Promise<boolean> {
    try {
      await check()
      this.ok(name)
      return true
    } catch (error) {
      this.fail(name, error instanceof Error ? error.message : String(error))
      return false
    }
  }

  /** Prints the total and gives the exit code. */
  total(): number {
    this.#print(`${this.#passed} passed, ${this.#failed} failed`)
    return this.#failed === 0 && this.#passed > 0 ? 0 : 1
  }
}
