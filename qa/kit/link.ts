/** Who hears what a link brings. */
export interface LinkHandlers {
  /** One message of the server, as text. */
  message(text: string): void
  /** The link is gone; called once. `how` is a close code, an exit code or a word. */
  closed(how: string): void
}

/** One road to the server under test, whatever carries it. */
export interface Link {
  readonly transport: Transport
  /** Sends one message exactly as given. */
  send(text: string): void
  /** Ends the link politely: end of stdin, a close frame. */
  end(): void
  /** Cuts it without a word. */
  cut(): void
  /** Starts delivery; what came before is delivered first. Called once. */
  open(handlers: LinkHandlers): void
}

export const TRANSPORTS = ['memory', 'stdio', 'ws', 'unix'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** Sees every message of a link, in order: `out` to the server, `in` from it. */
export type Tap = (way: 'out' | 'in', text: string) => void

/** The same link with a tap on it. */
export function tapped(link: Link, tap: Tap): Link {
  return {
    transport: link.transport,
    send(text) {
      tap('out', text)
      link.send(text)
    },
    end: () => link.end(),
    cut: () => link.cut(),
    open(handlers) {
      link.open({
        message(text) {
          tap('in', text)
          handlers.message(text)
        },
        closed: how => handlers.closed(how),
      })
    },
  }
}

/** Keeps what arrives until somebody listens. A link implementation feeds it. */
export class Inbox implements LinkHandlers {
  #handlers: LinkHandlers | undefined
  readonly #kept: ((handlers: LinkHandlers) => void)[] = []
  #gone = false

  message(text: string): void {
    this.#pass(handlers => handlers.message(text))
  }

  closed(how: string): void {
    if (this.#gone) return
    this.#gone = true
    this.#pass(handlers => handlers.closed(how))
  }

  open(handlers: LinkHandlers): void {
    this.#handlers = handlers
    for (const event of this.#kept.splice(0)) event(handlers)
  }

  #pass(event: (handlers: LinkHandlers) => void): void {
    if (this.#handlers) event(this.#handlers)
    else this.#kept.push(event)
  }
}
