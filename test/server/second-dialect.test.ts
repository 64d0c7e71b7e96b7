import t from 'tap'
import type { EngineEvent } from '../../src/engine/events.ts'
import { METHOD_NOT_FOUND, RpcError } from '../../src/rpc/error.ts'
import { notificationFrame } from '../../src/rpc/message.ts'
import type { Announcement, Dialect } from '../../src/server/dialect.ts'
import { Server } from '../../src/server/server.ts'
import { connectTo } from '../support/peer.ts'

/** A dialect of three words: it shows that the layers below know none. */
const tiny: Dialect = {
  name: 'tiny',
  admit({ method, params }, session) {
    if (method === 'hello') {
      return {
        lane: null,
        handle: () => {
          session.client = { name: 'tiny', title: null, version: '1' }
          server.hub.join(session)
          return 'hi'
        },
      }
    }
    if (method !== 'watch') throw new RpcError(METHOD_NOT_FOUND, `what is ${method}?`)
    const { id } = params as { id: string }
    return {
      lane: `watch ${id}`,
      handle: ({ afterReply }) => {
        afterReply(() => server.hub.follow(id, session))
        return () => ({ watching: id })
      },
    }
  },
  notice() {},
  project(event) {
    switch (event.type) {
      case 'thread.started':
        return say('born', { who: event.thread.id, where: event.thread.cwd }, 'everyone')
      case 'item.completed':
        return say('item', { n: event.index, kind: event.item.type, id: event.item.id }, 'followers')
      case 'turn.completed':
        return { ...say('over', [event.turn.id, event.turn.status], 'followers'), terminal: { turnId: event.turn.id } }
      default:
        return undefined
    }
  },
  failure: error => (error instanceof RpcError ? error : new RpcError(1, String(error))),
  oversized: () => null,
}

function say(method: string, params: unknown, audience: Announcement['audience']): Announcement {
  return {
    kind: 'announcement',
    frame: notificationFrame(method, params),
    audience,
    experimental: false,
    terminal: null,
  }
}

const attended: [string, boolean][] = []
const server = new Server({ attendance: (id, on) => void attended.push([id, on]), answer() {}, report() {} })

const at = { threadId: 'T', turnId: 'U', index: 3, at: 1 } as const
const events: readonly EngineEvent[] = [
  {
    type: 'thread.started',
    threadId: 'T',
    thread: {
      id: 'T',
      sessionId: 'T',
      forkedFrom: null,
      preview: '',
      name: null,
      ephemeral: false,
      provider: 'offline',
      model: 'offline',
      effort: null,
      createdAt: 0,
      updatedAt: 0,
      recencyAt: 0,
      status: { type: 'idle' },
      path: null,
      cwd: '/here',
      cliVersion: '1',
      originator: null,
      source: 'vscode',
      threadSource: null,
      gitInfo: null,
      readState: { firstUnread: null, revision: '0' },
    },
  },
  { type: 'item.completed', ...at, item: { type: 'compaction', id: 'I' } },
  {
    type: 'turn.completed',
    threadId: 'T',
    turn: { id: 'U', status: 'completed', error: null, startedAt: 1, completedAt: 2, durationMs: 1, items: [] },
  },
]

t.test('it projects engine events into a dialect of any shape', async t => {
  const peer = connectTo(server, tiny)
  t.strictSame(await peer.ask('hello'), { result: 'hi' })
  t.strictSame(await peer.ask('watch', { id: 'T' }), { result: { watching: 'T' } })
  for (const event of events) server.hub.publish(event)
  t.strictSame(await peer.take(3), [
    { method: 'born', params: { who: 'T', where: '/here' } },
    { method: 'item', params: { n: 3, kind: 'compaction', id: 'I' } },
    { method: 'over', params: ['U', 'completed'] },
  ])
  t.strictSame(attended, [['T', true]])
  await peer.close()
  t.strictSame(attended, [
    ['T', true],
    ['T', false],
  ])
})

t.test('it answers what a dialect does not know with the error of that dialect', async t => {
  const peer = connectTo(server, tiny)
  t.strictSame(await peer.ask('sing'), { error: { code: METHOD_NOT_FOUND, message: 'what is sing?' } })
  await peer.close()
})

t.test('it keeps the end of a turn for the next follower, unless that one has been shown it', async t => {
  const last = events[2]!
  const [first, second] = [connectTo(server, tiny), connectTo(server, tiny)]
  await first.ask('hello')
  await second.ask('hello')
  server.hub.publish(last)
  const [one, two] = [first.session, second.session]
  server.hub.follow('T', one)
  server.hub.catchUp('T', one, () => false)
  t.strictSame(await first.take(1), [{ method: 'over', params: ['U', 'completed'] }])
  server.hub.follow('T', two)
  server.hub.catchUp('T', two, () => false)
  t.strictSame(await second.silence(), [], 'it was handed over once')
  server.hub.unfollow('T', one)
  server.hub.unfollow('T', two)
  server.hub.publish(last)
  server.hub.follow('T', two)
  server.hub.catchUp('T', two, turnId => turnId === 'U')
  t.strictSame(await second.silence(), [], 'the answer it got already shows that turn')
  await first.close()
  await second.close()
})

t.test('it keeps the end of a turn from those who do not want to hear of it, for one who does', async t => {
  const last = events[2]!
  const [deaf, first, second] = [connectTo(server, tiny), connectTo(server, tiny), connectTo(server, tiny)]
  for (const peer of [deaf, first, second]) await peer.ask('hello')
  deaf.session.optOut = new Set(['over'])
  server.hub.follow('T', deaf.session)
  server.hub.publish(last)
  server.hub.catchUp('T', deaf.session, () => true)
  t.strictSame(await deaf.silence(), [])
  for (const { session } of [first, second]) {
    server.hub.follow('T', session)
    server.hub.catchUp('T', session, () => false)
  }
  t.strictSame(await first.take(1), [{ method: 'over', params: ['U', 'completed'] }])
  server.hub.publish(last)
  t.strictSame(
    [await first.silence(), await second.silence()],
    [[{ method: 'over', params: ['U', 'completed'] }], [{ method: 'over', params: ['U', 'completed'] }]],
    'each who listens hears it once',
  )
  for (const peer of [deaf, first, second]) await peer.close()
})

t.test('it forgets the followers of a thread that was archived, and what was kept of one that was deleted', async t => {
  const last = events[2]!
  const peer = connectTo(server, tiny)
  await peer.ask('hello')
  server.hub.follow('T', peer.session)
  server.hub.publish({ type: 'thread.archived', threadId: 'T' })
  t.equal(server.hub.isFollowing('T', peer.session), false)
  server.hub.publish(last)
  server.hub.publish({ type: 'thread.deleted', threadId: 'T' })
  server.hub.follow('T', peer.session)
  server.hub.catchUp('T', peer.session, () => false)
  t.strictSame(await peer.silence(), [])
  await peer.close()
})
