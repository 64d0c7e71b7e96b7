import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Inbox, type Link } from './link.ts'

/** A link over the standard streams of a server process. It closes when the process ends. */
export function stdioLink(child: ChildProcess): Link {
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('the server was started without pipes')
  const inbox = new Inbox()
  const lines = createInterface({ input: stdout })
  lines.on('line', line => inbox.message(line))
  // The last lines may still be on their way when the process is already gone.
  child.once('exit', (code, signal) => lines.once('close', () => inbox.closed(String(signal ?? code))))
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
