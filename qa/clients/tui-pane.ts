import { sleep } from '../kit/child.ts'
import type { Tmux } from './tui-tmux.ts'

/** How long a screen may take to show what is expected: a loaded machine of two cores must not fail a good server. */
const PATIENCE_MS = 45_000
const LOOK_EVERY_MS = 120
/** The TUI takes keys that come faster than a person's for a paste, and Enter in a paste for a line break. */
const PASTE_GAP_MS = 600
/** How much of what is typed must be seen: the rest of it may be broken over lines. */
const ECHO_CHARS = 60

/** A TUI in a pane, as the person in front of it: types, looks, waits. */
export class Pane {
  readonly #tmux: Tmux
  readonly #id: string
  #anchor: RegExp | null = null

  private constructor(tmux: Tmux, id: string) {
    this.#tmux = tmux
    this.#id = id
  }

  static async open(tmux: Tmux, argv: readonly string[]): Promise<Pane> {
    return new Pane(tmux, await tmux.open(argv))
  }

  /** Presses keys by tmux's names: `Enter`, `Escape`, `Down`, `y`. */
  async press(...keys: readonly string[]): Promise<void> {
    await this.#tmux.ask('send-keys', '-t', this.#id, ...keys)
  }

  /** Puts text into the composer; several lines go in as one paste. */
  async type(text: string): Promise<void> {
    if (text.includes('\n')) {
      await this.#tmux.ask('set-buffer', '-b', 'input', '--', text)
      await this.#tmux.ask('paste-buffer', '-d', '-p', '-r', '-b', 'input', '-t', this.#id)
    } else {
      await this.#tmux.ask('send-keys', '-t', this.#id, '-l', '--', text)
    }
    // The gap counts from when a slow TUI has taken the text, not from when it was typed.
    // A leading `!` turns into the prompt.
    const start = (text.split('\n')[0] ?? '').replace(/^!/, '').slice(0, ECHO_CHARS)
    await this.#until(`shows ${JSON.stringify(start)} as typed`, screen => screen.includes(start))
    await sleep(PASTE_GAP_MS)
  }

  /** Types a message and sends it; from now on only what stands below it counts as seen. */
  async say(text: string): Promise<void> {
    this.lookBelow(text.split('\n')[0] ?? '')
    await this.type(text)
    await this.press('Enter')
  }

  /** Makes `see` and `lose` look below the last line the person said so; anywhere when that is not on the screen. */
  lookBelow(line: string): void {
    this.#anchor = new RegExp(`^(?:› )?${quoted(line)}$`, 'gm')
  }

  /** What stands on the screen now. */
  async screen(): Promise<string> {
    const text = await this.#tmux.ask('capture-pane', '-p', '-t', this.#id)
    return text.replace(/[ \t]+$/gm, '').trimEnd()
  }

  /** The exit code of the program; null while it runs. */
  exitCode(): Promise<number | null> {
    return this.#tmux.exitCode(this.#id)
  }

  /** Waits until the screen shows all of `wanted`. Throws, with the screen, when it does not in time or the program ends. */
  async see(...wanted: readonly RegExp[]): Promise<string> {
    return this.#until(`sees ${wanted.join(' and ')}`, screen => wanted.every(pattern => pattern.test(screen)))
  }

  /** Waits until the screen shows nothing of `unwanted`. */
  async lose(...unwanted: readonly RegExp[]): Promise<string> {
    return this.#until(`is rid of ${unwanted.join(' and ')}`, screen => !unwanted.some(pattern => pattern.test(screen)))
  }

  /** Waits for the end of the program and gives its exit code and last screen. */
  async ended(): Promise<{ readonly code: number; readonly screen: string }> {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const code = await this.exitCode()
      const screen = await this.screen()
      if (code !== null) return { code, screen }
      if (Date.now() > end) throw new Error(`the program does not end\n${framed(screen)}`)
      await sleep(LOOK_EVERY_MS)
    }
  }

  /** Takes the pane away, with the program when it still runs. */
  async close(): Promise<void> {
    await this.#tmux.ask('kill-pane', '-t', this.#id)
  }

  #below(screen: string): string {
    const last = this.#anchor && [...screen.matchAll(this.#anchor)].at(-1)
    return last ? screen.slice(last.index) : screen
  }

  async #until(aim: string, test: (screen: string) => boolean): Promise<string> {
    const end = Date.now() + PATIENCE_MS
    for (;;) {
      const screen = await this.screen()
      if (test(this.#below(screen))) return screen
      const code = await this.exitCode()
      if (code !== null) throw new Error(`the TUI ended by itself with ${code} before it ${aim}\n${framed(screen)}`)
      if (Date.now() > end) throw new Error(`the screen never ${aim}\n${framed(screen)}`)
      await sleep(LOOK_EVERY_MS)
    }
  }
}

/** `text` as a part of a pattern that matches just it. */
export const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')

/** A screen for a report, each line marked. */
export const framed = (screen: string): string => screen.replace(/^/gm, '| ')
