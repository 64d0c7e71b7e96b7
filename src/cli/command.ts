/** What the command line asks for. */
export type Command =
  | AppServerCommand
  | { readonly name: 'version' }
  | { readonly name: 'help'; readonly topic: string | null }
  | { readonly name: 'wrong'; readonly message: string }

export interface AppServerCommand {
  readonly name: 'app-server'
  /** Listener addresses; empty means stdio. */
  readonly listen: readonly string[]
  readonly wsAuth: string | null
  readonly protocol: 'codex' | 'native'
  readonly flags: readonly string[]
  readonly profile: string | null
  readonly logLevel: string | null
  /** Print what to paste into each client once the server listens. */
  readonly greet: boolean
}

/** What an option changes of the command, or why it cannot. */
type Effect = Partial<AppServerCommand> | string

/** Options with a value. `--name=value` and `--name value` are the same. */
const VALUED: Readonly<Record<string, (value: string, command: AppServerCommand) => Effect>> = {
  '--listen': (value, { listen }) => ({ listen: [...listen, value] }),
  // `capability-token` is codex's word for what is the default here; its file comes in an option of its own.
  '--ws-auth': value => (value === 'capability-token' ? {} : { wsAuth: value }),
  '--ws-token-file': value => ({ wsAuth: value }),
  '--profile': value => ({ profile: value }),
  '-p': value => ({ profile: value }),
  '--log-level': value => ({ logLevel: value }),
  '--protocol': value => (value === 'codex' ? { protocol: value } : `unknown protocol \`${value}\`; known: codex`),
  '--config': (value, { flags }) => ({ flags: [...flags, value] }),
  '-c': (value, { flags }) => ({ flags: [...flags, value] }),
  // Codex's switches for its own features: taken, so that its launchers work, and without meaning here.
  '--enable': () => ({}),
  '--disable': () => ({}),
}

const PLAIN: Readonly<Record<string, (command: AppServerCommand) => Effect>> = {
  '--stdio': ({ listen }) => ({ listen: [...listen, 'stdio://'] }),
  '--greet': () => ({ greet: true }),
  '--analytics-default-enabled': () => ({}),
  '--dangerously-bypass-hook-trust': () => ({}),
}

const DEFAULTS: AppServerCommand = {
  name: 'app-server',
  listen: [],
  wsAuth: null,
  protocol: 'codex',
  flags: [],
  profile: null,
  logLevel: null,
  greet: false,
}

/**
 * Reads the arguments of `skein`. Options may stand before or after the command, as launchers of codex put them; an unknown
 * one is refused rather than guessed at.
 */
export function readCommand(argv: readonly string[]): Command {
  const rest = [...argv]
  const words: string[] = []
  let command = DEFAULTS
  let help = false
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith('-') || arg === '-') words.push(arg)
    else if (arg === '--version' || arg === '-V') return { name: 'version' }
    else if (arg === '--help' || arg === '-h') help = true
    else {
      const effect = effectOf(arg, rest, command)
      if (typeof effect === 'string') return wrong(effect)
      command = { ...command, ...effect }
    }
  }
  return commandOf(words, command, help)
}

/** What one option does; takes its value from `rest` when it is not part of `arg`. */
function effectOf(arg: string, rest: string[], command: AppServerCommand): Effect {
  const equals = arg.startsWith('--') ? arg.indexOf('=') : -1
  const name = equals < 0 ? arg : arg.slice(0, equals)
  const plain = Object.hasOwn(PLAIN, arg) ? PLAIN[arg] : undefined
  if (plain) return plain(command)
  const valued = Object.hasOwn(VALUED, name) ? VALUED[name] : undefined
  if (!valued) return `unknown option ${arg}`
  const value = equals < 0 ? rest.shift() : arg.slice(equals + 1)
  return value === undefined ? `${name} needs a value` : valued(value, command)
}

function commandOf(words: readonly string[], command: AppServerCommand, help: boolean): Command {
  const [word, ...rest] = words
  if (help || word === 'help') return { name: 'help', topic: (word === 'help' ? rest[0] : word) ?? null }
  if (word === 'version') return { name: 'version' }
  if (word === undefined) return { name: 'help', topic: null }
  if (word !== 'app-server') return wrong(`unknown command ${word}`)
  if (rest.length > 0) return wrong(`app-server takes no argument ${rest[0]}`)
  return command
}

const wrong = (message: string): Command => ({ name: 'wrong', message })
