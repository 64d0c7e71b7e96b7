import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { within } from './child.ts'
import { Inbox, type Link } from './link.ts'

/** A link over the standard streams of a server process. It closes when the process ends. */
export function stdioLink(child: ChildProcess): Link {
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('the server was started without pipes')
  const inbox = new Inbox()
  const lines = createInterface({ input: stdout })
  lines.on('line', line => inbox.message(line))
  const read = new Promise<void>(resolve => lines.once('close', resolve))
  // The last lines may still be on their way when the process is already gone, and a child of it may hold the pipe open.
  child.once('exit', (code, signal) => void within(500, read, null).then(() => inbox.closed(String(signal ?? code))))
  child.once('error', error => inbox.closed(error.message))
  stdin.on('error', () => {})
  return {
    transport: 'stdio',
    send: text => void stdin.write(`${text}\n`),
    end: () => void stdin.end(),
    cut: () => void stdin.destroy(),
    open: handlers => inbox.open(handlers),
  }
}
