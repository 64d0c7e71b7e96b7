import type { ChildProcess } from 'node:child_process'
import { Client } from './client.ts'

const NEWLINE = 10

/** A client on the standard streams of a server. */
export function stdioClient(child: ChildProcess): Client {
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new Error('the server was started without pipes')
  stdin.on('error', () => {})
  const client = new Client({
    send: text => void stdin.write(`${text}\n`),
    pause: () => void stdout.pause(),
    resume: () => void stdout.resume(),
    close: () => void stdin.end(),
    drop: () => void stdin.destroy(),
  })
  stdout.on(
    'data',
    lines(line => client.take(line)),
  )
  child.on('exit', (code, signal) => client.gone({ code, signal }))
  return client
}

/** Cuts chunks into lines; empty ones do not count. */
function lines(take: (line: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null
  return chunk => {
    const all: Buffer = rest ? Buffer.concat([rest, chunk]) : chunk
    let from = 0
    for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, from)) {
      if (end > from) take(all.subarray(from, end))
      from = end + 1
    }
    rest = from < all.length ? all.subarray(from) : null
  }
}
