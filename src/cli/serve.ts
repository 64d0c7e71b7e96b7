import { createLogger, type Logger, type LogLevel } from '../base/log.ts'
import { skeinHome } from '../base/paths.ts'
import { parseAddress } from '../transport/address.ts'
import type { Listener } from '../transport/listen.ts'
import { AppServer } from './app-server.ts'
import type { AppServerCommand } from './command.ts'

/** Runs `skein app-server` until its client or a signal ends it. */
export async function serve(command: AppServerCommand): Promise<void> {
  const { env } = process
  const home = skeinHome(env)
  const log = createLogger(levelOf(command.logLevel ?? env.SKEIN_LOG))
  guard(log)
  const { flags, profile } = command
  // Whatever the server itself makes is for its owner alone.
  const umask = process.umask(0o077)
  const server = new AppServer({ home, cwd: process.cwd(), env, log, flags, profile, umask })
  const end = (): void => void server.stop().then(() => process.exit(0))
  onSignals(end, log)
  try {
    const addresses = command.listen.length > 0 ? command.listen : ['stdio://']
    for (const text of addresses) {
      const listener = await server.listen(parseAddress(text, { home, cwd: process.cwd() }), command.wsAuth, end)
      if (listener.url.startsWith('stdio')) continue
      // The two lines a person needs; a program reads them too, to learn the port.
      process.stderr.write(`listening on ${listener.url}\n`)
      if (listener.tokenFile) process.stderr.write(`bearer token in ${listener.tokenFile}\n`)
      if (command.greet) await greet(server, listener)
    }
  } catch (error) {
    process.stderr.write(`skein: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

async function greet(server: AppServer, listener: Listener): Promise<void> {
  const [{ greeting }, engine] = await Promise.all([import('./greeting.ts'), server.warm()])
  process.stderr.write(greeting(listener, engine.defaultModel()))
}

function levelOf(text: string | undefined): LogLevel {
  return text === 'debug' || text === 'warn' || text === 'error' ? text : 'info'
}

/** The first signal stops in order, the second at once. */
function onSignals(end: () => void, log: Logger): void {
  let asked = false
  const stop = (): void => {
    if (asked) process.exit(0)
    asked = true
    log.debug('stopping')
    end()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', stop)
}

/** A bug in one thread's code must not take the other threads with it: it is said, with its stack, and the server lives. */
function guard(log: Logger): void {
  process.on('uncaughtException', error => log.error(`uncaught: ${error.stack ?? error.message}`))
  process.on('unhandledRejection', reason => {
    log.error(`unhandled: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`)
  })
}
