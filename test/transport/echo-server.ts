import { errorFrame, readMessage, responseFrame } from '../../src/rpc/message.ts'
import { Outbox } from '../../src/rpc/outbox.ts'
import { stdioChannel } from '../../src/transport/stdio.ts'

/** The least a server can be: answers every request with its params, over stdin and stdout. */
const channel = stdioChannel(process.stdin, process.stdout)
const outbox = new Outbox(channel)

channel.open({
  message: text => {
    const message = readMessage(text)
    if (message.kind === 'request') outbox.post(responseFrame(message.id, message.params))
    if (message.kind === 'invalid') outbox.post(errorFrame(message.id, message))
    if (outbox.busy) channel.pause()
  },
  oversized: bytes => outbox.post(errorFrame(null, { code: -32600, message: `${bytes} bytes` })),
  drain: () => {
    outbox.drain()
    if (!outbox.busy) channel.resume()
  },
  ended: () => outbox.close(1000, ''),
  closed: () => outbox.discard(),
})
