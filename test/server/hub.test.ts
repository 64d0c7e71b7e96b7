import t from 'tap'
import type { Decision } from '../../src/engine/approvals.ts'
import type { EngineEvent } from '../../src/engine/events.ts'
import { RpcError } from '../../src/rpc/error.ts'
import { notificationFrame } from '../../src/rpc/message.ts'
import type { Dialect } from '../../src/server/dialect.ts'
import { Server } from '../../src/server/server.ts'
import { connectTo, type Message } from '../support/peer.ts'

const answers: [string, Decision][] = []
const attended: boolean[] = []
const reports: unknown[] = []
const server = new Server({
  attendance: (_thread, on) => void attended.push(on),
  answer: (id, decision) => {
    answers.push([id, decision])
    server.hub.publish({ type: 'approval.resolved', threadId: 'T', approvalId: id, kind: 'fileChange' })
  },
  report: (error, method) => void reports.push([String(error), method]),
})

/** Asks about file changes and says when that is over. */
const dialect: Dialect = {
  name: 'asking',
  admit: ({ method }, session) => ({
    lane: null,
    handle: ({ afterReply }) => {
      if (method === 'hello') {
        session.client = { name: 'c', title: null, version: '1' }
        server.hub.join(session)
      }
      if (method === 'follow') {
        afterReply(() => {
          server.hub.follow('T', session)
          server.hub.catchUp('T', session, () => false)
        })
      }
      if (method === 'cyclic') return cycle
      return {}
    },
  }),
  notice() {},
  project(event, calls) {
    if (event.type === 'approval.requested') {
      return {
        kind: 'question',
        method: 'may',
        params: { item: event.ask.itemId },
        decode: reply => ({ type: reply.kind === 'result' && reply.result === 'yes' ? 'accept' : 'cancel' }),
      }
    }
    if (event.type !== 'approval.resolved') return undefined
    const frame = notificationFrame('settled', { id: calls.callId(event.approvalId) })
    return { kind: 'announcement', frame, audience: 'followers', experimental: false, terminal: null }
  },
  failure: error => new RpcError(-32603, String(error)),
  oversized: () => null,
}

const cycle: Record<string, unknown> = {}
cycle.self = cycle

const asks = (approvalId: string): EngineEvent => ({
  type: 'approval.requested',
  threadId: 'T',
  approvalId,
  ask: { type: 'fileChange', turnId: 'U', itemId: approvalId, startedAt: 0, reason: null, changes: [] },
})

async function follower() {
  const peer = connectTo(server, dialect)
  await peer.ask('hello')
  await peer.ask('follow')
  return peer
}

const idOf = (messages: readonly Message[]): unknown => messages[0]?.id

t.test('it asks every follower under one id, and the first answer wins', async t => {
  const [one, two, other] = [await follower(), await follower(), connectTo(server, dialect)]
  await other.ask('hello')
  server.hub.publish(asks('A'))
  const [asked, again] = [await one.take(1), await two.take(1)]
  t.strictSame(asked, again)
  t.match(asked, [{ method: 'may', params: { item: 'A' } }])
  other.send({ id: idOf(asked), result: 'yes' })
  two.send({ id: idOf(asked), result: 'yes' })
  t.strictSame(await one.take(1), [{ method: 'settled', params: { id: idOf(asked) } }])
  t.strictSame(await two.take(1), [{ method: 'settled', params: { id: idOf(asked) } }])
  one.send({ id: idOf(asked), result: 'no' })
  t.strictSame(await one.silence(), [])
  t.strictSame(answers.splice(0), [['A', { type: 'accept' }]], 'who was not asked and who is late count for nothing')
  t.strictSame(await other.silence(), [], 'who does not follow is not asked')
  await Promise.all([one.close(), two.close(), other.close()])
})

t.test('it keeps a question open for the next follower, under the same id', async t => {
  const first = await follower()
  server.hub.publish(asks('B'))
  const asked = await first.take(1)
  await first.close()
  t.equal(attended.at(-1), false)
  const second = await follower()
  t.equal(attended.at(-1), true)
  t.strictSame(await second.take(1), asked)
  second.send({ id: idOf(asked), error: { code: 1, message: 'cannot' } })
  await second.take(1)
  t.strictSame(answers.splice(0), [['B', { type: 'cancel' }]])
  await second.close()
})

t.test('it asks a follower who came when nobody had been asked yet', async t => {
  server.hub.publish(asks('C'))
  const late = await follower()
  t.match(await late.take(1), [{ method: 'may', params: { item: 'C' } }])
  server.hub.publish({ type: 'approval.resolved', threadId: 'T', approvalId: 'C', kind: 'fileChange' })
  t.match(await late.take(1), [{ method: 'settled' }])
  await late.close()
  const later = await follower()
  t.strictSame(await later.silence(), [], 'what is settled is not asked again')
  await later.close()
})

t.test('it never uses an id twice', async t => {
  const peer = await follower()
  const ids = new Set<unknown>()
  for (const name of ['D', 'E', 'F']) {
    server.hub.publish(asks(name))
    ids.add(idOf(await peer.take(1)))
  }
  t.equal(ids.size, 3)
  await peer.close()
})

t.test('it answers even when the result cannot be encoded', async t => {
  const peer = connectTo(server, dialect)
  t.match(await peer.ask('cyclic'), { error: { code: -32603 } })
  await peer.close()
})
