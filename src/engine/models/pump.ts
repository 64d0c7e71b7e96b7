import type { IncomingMessage } from 'node:http'

/** Milliseconds of work on one response before everybody else has a turn: a burst must not stall other threads. */
const TURN_MS = 8
/** Characters between two looks at the clock. */
const SLICE = 8 * 1024

/**
 * Gives the text of `answer` to `feed`, synchronously from the socket's read, until too much has come at once: then the
 * answer is paused, and goes on in the next turn of the event loop. `ended` is called once, when all was fed; `cut` says
 * that the connection broke.
 */
export function pump(answer: IncomingMessage, feed: (text: string) => void, ended: (cut: boolean) => void): void {
  let rest = ''
  let turnEnds = 0
  let over = false

  const work = (): void => {
    while (rest !== '') {
      const slice = rest.slice(0, SLICE)
      rest = rest.slice(SLICE)
      feed(slice)
      if (performance.now() > turnEnds) return pause()
    }
    if (answer.isPaused()) answer.resume()
  }
  const turn = (): void => {
    turnEnds = performance.now() + TURN_MS
    setImmediate(() => {
      turnEnds = 0
    })
  }
  const pause = (): void => {
    answer.pause()
    setImmediate(() => {
      turn()
      work()
    })
  }
  const end = (cut: boolean): void => {
    if (over) return
    over = true
    const last = rest
    rest = ''
    if (last !== '') feed(last)
    ended(cut)
  }

  answer.setEncoding('utf8')
  answer.on('data', (chunk: string) => {
    rest += chunk
    if (turnEnds === 0) turn()
    work()
  })
  answer.on('end', () => end(false))
  answer.on('error', () => end(true))
  answer.on('close', () => end(true))
}
