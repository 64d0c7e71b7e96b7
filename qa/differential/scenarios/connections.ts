import { createHmac } from 'node:crypto'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { dig } from '../../kit/dig.ts'
import { Refused } from '../../kit/ws-link.ts'
import { command, type Scenario, text } from '../scenario.ts'
import type { Stage, WsTalker } from '../stage.ts'
import { item } from '../talker.ts'

const APPROVAL = 'item/commandExecution/requestApproval'
const ASKING = { approval: 'untrusted', sandbox: 'workspace-write' }
const TOUCH = [command('touch x'), { say: ['ok'] }]
const SEED = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'seed' }] }

/** Two clients, both initialised. */
async function pair(stage: Stage): Promise<readonly [WsTalker, WsTalker]> {
  await stage.listen()
  const a = await stage.ws()
  const b = await stage.ws()
  await a.initialize()
  await b.initialize({ name: 'second' })
  return [a, b]
}

/** Threads with several clients, and clients that come and go. */
export const connections: readonly Scenario[] = [
  {
    name: 'two-connections',
    about: 'A second client that only watches, then resumes in mid-turn, then starts a turn itself.',
    script: [{ say: ['one'] }, { say: ['two ', 'three'], gateAfter: 'g' }, { say: ['four'] }],
    async run(stage) {
      const [a, b] = await pair(stage)
      const threadId = await stage.thread(a)
      await a.quiet(200)
      await stage.turn(a, threadId, 'first')
      await a.quiet(200)
      await b.quiet(200)
      await b.ask('thread/loaded/list', {})
      await a.ask('turn/start', { threadId, input: text('second') })
      await a.until(m => m.method === 'item/agentMessage/delta' && dig(m, 'params.delta') === 'two ')
      await b.ask('thread/resume', { threadId })
      await b.quiet(300)
      stage.model.release('g')
      await a.untilOrNull('turn/completed', { from: a.mark() })
      await b.until('turn/completed')
      await a.quiet(200)
      await b.quiet(200)
      await b.ask('turn/start', { threadId, input: text('from b') })
      await a.until(m => m.method === 'item/completed' && dig(m, 'params.item.text') === 'four')
      await a.quiet(200)
      await b.quiet(200)
      await a.ask('thread/unsubscribe', { threadId })
      await b.ask('thread/name/set', { threadId, name: 'N' })
      await a.quiet(200)
      await b.ask('thread/archive', { threadId })
      await a.quiet(200)
      await b.quiet(200)
    },
  },
  {
    name: 'two-connections-approval',
    about: 'Both subscribers are asked, the second answers, the first is too late.',
    script: TOUCH,
    setting: ASKING,
    async run(stage) {
      const [a, b] = await pair(stage)
      const threadId = await stage.thread(a)
      await a.quiet(150)
      await a.ask('thread/inject_items', { threadId, items: [SEED] })
      await a.quiet(150)
      await b.ask('thread/resume', { threadId })
      await b.quiet(150)
      await a.ask('turn/start', { threadId, input: text('go') })
      const askedA = await a.until(APPROVAL)
      const askedB = await b.untilOrNull(APPROVAL, { timeoutMs: 2000 })
      if (askedB) b.answer(askedB, { decision: 'accept' })
      else a.answer(askedA, { decision: 'accept' })
      await a.until('turn/completed')
      await a.quiet(150)
      if (askedB) a.answer(askedA, { decision: 'decline' })
      await a.quiet(200)
      await b.quiet(200)
    },
  },
  {
    name: 'approval-disconnect-resume',
    about: 'The only subscriber goes while it is asked; the next one to resume is asked and answers.',
    script: TOUCH,
    setting: ASKING,
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      const threadId = await stage.thread(a)
      await a.ask('turn/start', { threadId, input: text('go') })
      await a.until(APPROVAL)
      await a.quiet(150)
      a.cut()
      await stage.sleep(700)
      const b = await stage.ws()
      await b.initialize({ name: 'second' })
      await b.askAll([
        ['thread/loaded/list', {}],
        ['thread/read', { threadId }],
        ['thread/list', {}],
        ['thread/resume', { threadId }],
      ])
      const asked = await b.untilOrNull(APPROVAL, { timeoutMs: 2000 })
      await b.quiet(200)
      if (asked) {
        b.answer(asked, { decision: 'accept' })
        await b.until('turn/completed')
      }
      await b.quiet(400)
    },
  },
  {
    name: 'approval-second-subscriber',
    about: 'A client that resumes while another is asked is asked too; the first leaves, the second declines.',
    script: TOUCH,
    setting: ASKING,
    async run(stage) {
      const [a, b] = await pair(stage)
      const threadId = await stage.thread(a)
      await a.ask('turn/start', { threadId, input: text('go') })
      await a.until(APPROVAL)
      await a.quiet(150)
      await b.ask('thread/resume', { threadId })
      const asked = await b.untilOrNull(APPROVAL, { timeoutMs: 2000 })
      await a.ask('thread/unsubscribe', { threadId })
      await a.quiet(200)
      if (asked) {
        b.answer(asked, { decision: 'decline' })
        await b.until('turn/completed')
      }
      await a.quiet(300)
      await b.quiet(300)
    },
  },
  {
    name: 'approval-unsubscribed',
    about: 'Nobody is subscribed when the question comes up; the one who resumes is asked.',
    script: [{ ...command('touch x'), gate: 'g' }, { say: ['ok'] }],
    setting: ASKING,
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      const threadId = await stage.thread(a)
      await a.ask('turn/start', { threadId, input: text('go') })
      await a.until(item('completed', 'userMessage'))
      await a.ask('thread/unsubscribe', { threadId })
      stage.model.release('g')
      await a.until(message => dig(message, 'params.status.activeFlags.0') === 'waitingOnApproval')
      await a.quiet(200)
      await a.ask('thread/read', { threadId })
      await a.ask('thread/resume', { threadId })
      const asked = await a.untilOrNull(APPROVAL, { timeoutMs: 2000 })
      await a.quiet(200)
      if (asked) {
        a.answer(asked, { decision: 'accept' })
        await a.until('turn/completed')
      }
      await a.quiet(300)
    },
  },
  {
    name: 'disconnect-mid-turn',
    about: 'The client is gone in mid-turn; another reads, resumes and goes on.',
    script: [{ say: ['one ', 'two'], gateAfter: 'g' }, { say: ['next'] }],
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      const threadId = await stage.thread(a)
      await a.ask('turn/start', { threadId, input: text('go') })
      await a.until('item/agentMessage/delta')
      a.cut()
      await stage.sleep(400)
      const b = await stage.ws()
      await b.initialize({ name: 'second' })
      await b.ask('thread/loaded/list', {})
      await b.ask('thread/read', { threadId })
      await b.ask('thread/resume', { threadId })
      await b.quiet(200)
      stage.model.release('g')
      await b.until('turn/completed')
      await b.quiet(200)
      await b.ask('thread/read', { threadId, includeTurns: true })
      await stage.turn(b, threadId, 'more')
      await b.quiet(200)
    },
  },
  {
    name: 'broadcast-scope',
    about: 'What an unsubscribed and an uninitialised client hear of all that happens.',
    script: [{ say: ['a'] }],
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      const b = await stage.ws()
      const silent = await stage.ws()
      await a.initialize()
      await b.initialize({ name: 'second', experimental: false })
      const threadId = await stage.thread(a)
      await stage.turn(a, threadId, 'hi')
      await a.quiet(150)
      for (const [method, params, ms] of [
        ['thread/name/set', { threadId, name: 'N' }, 150],
        ['thread/settings/update', { threadId, effort: 'low' }, 150],
        ['thread/goal/set', { threadId, objective: 'G', status: 'paused' }, 200],
        ['thread/archive', { threadId }, 200],
        ['thread/unarchive', { threadId }, 150],
        ['thread/delete', { threadId }, 200],
        ['config/value/write', { keyPath: 'model', value: 'gpt-5.5', mergeStrategy: 'replace' }, 200],
        ['account/login/start', { type: 'apiKey', apiKey: 'sk-test' }, 200],
      ] as const) {
        await a.ask(method, params)
        await a.quiet(ms)
      }
      await a.ask('account/logout')
      await b.quiet(300)
      await silent.quiet(100)
    },
  },
  {
    name: 'ws-http',
    about: 'Probes, refused handshakes, binary frames, pings, text that is no message.',
    async run(stage) {
      const origin = 'http://evil'
      await stage.listen()
      for (const path of ['/readyz', '/healthz', '/', '/nope']) await stage.http(path)
      for (const path of ['/readyz', '/healthz']) await stage.http(path, { origin })
      await stage.http('/readyz', {}, 'POST')
      await stage.rejected('Origin header', { origin })
      await stage.rejected('superfluous bearer', { headers: { authorization: 'Bearer x' } })
      const a = await stage.ws()
      a.socket.send(Buffer.from('{"id":1,"method":"initialize"}'))
      stage.event({ sent: 'binary frame' })
      a.socket.ping('hi')
      a.socket.on('pong', data => stage.event({ pong: data.toString() }))
      await stage.sleep(200)
      a.raw('not json')
      await stage.sleep(200)
      stage.event({ stillOpen: !a.closed })
      await a.initialize()
      await a.ask('thread/loaded/list', {})
      const list = (id: number): string => `{"id":${id},"method":"thread/loaded/list","params":{}}`
      a.raw(`${list(50)}\n${list(51)}`)
      await a.quiet(300)
      a.end()
      await stage.sleep(200)
    },
  },
  {
    name: 'ws-oversized',
    about: 'Single frames of 1, 15 and 17 MiB.',
    async run(stage) {
      await stage.listen()
      for (const mib of [1, 15, 17]) {
        const a = await stage.ws()
        await a.initialize()
        const closed = new Promise(resolve => a.socket.once('close', resolve))
        const params = { pad: 'y'.repeat(mib << 20) }
        const options = { id: `big-${mib}`, timeoutMs: 40_000, unrecorded: true } as const
        stage.event({ sentMiB: mib })
        await Promise.race([a.ask('thread/loaded/list', params, options).catch(() => null), closed])
        stage.event({ mib, open: !a.closed, close: closeOf(a) })
        a.cut()
        await stage.sleep(50)
      }
    },
  },
  {
    name: 'ws-fragmented',
    about: 'A message of 20 MiB in fragments of 1 MiB.',
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      const closed = new Promise<null>(resolve => a.socket.once('close', () => resolve(null)))
      const answered = new Promise<unknown>(resolve => a.answered.set('f20', resolve))
      const params = { pad: 'y'.repeat(20 << 20) }
      const bytes = Buffer.from(JSON.stringify({ id: 'f20', method: 'thread/loaded/list', params }))
      const MIB = 1 << 20
      for (let at = 0; at < bytes.length; at += MIB) {
        a.socket.send(bytes.subarray(at, at + MIB), { fin: at + MIB >= bytes.length, binary: false })
      }
      const answer = await Promise.race([answered, closed, stage.sleep(40_000)])
      const event = { fragmentedMiB: 20, answered: Boolean(dig(answer, 'result')) }
      stage.event({ ...event, open: !a.closed, close: closeOf(a) })
      a.cut()
    },
  },
  {
    name: 'ws-auth-capability',
    about: "codex's own token words: no token, a wrong one, other schemes, the right one.",
    async run(stage) {
      const token = 'super-secret-token-0123456789'
      const file = join(stage.place.dir, 'tok')
      writeFileSync(file, `${token}\n`, { mode: 0o600 })
      await stage.listen(['--ws-auth', 'capability-token', '--ws-token-file', file])
      const bearer = (authorization: string): object => ({ headers: { authorization } })
      await stage.http('/readyz')
      await stage.rejected('no header')
      await stage.rejected('wrong token', bearer('Bearer wrong'))
      await stage.rejected('basic scheme', bearer(`Basic ${token}`))
      await stage.rejected('lower-case scheme', bearer(`bearer ${token}`))
      await stage.rejected('right token', bearer(`Bearer ${token}`))
      await stage.rejected('right token + Origin', { ...bearer(`Bearer ${token}`), origin: 'http://evil' })
      await (await stage.ws({ token })).initialize()
    },
  },
  {
    name: 'ws-auth-jwt',
    about: 'Signed tokens with every kind of claim.',
    async run(stage) {
      const secret = 'k'.repeat(40)
      const file = join(stage.place.dir, 'sec')
      writeFileSync(file, secret, { mode: 0o600 })
      const words = ['--ws-auth', 'signed-bearer-token', '--ws-shared-secret-file', file]
      const claims = ['--ws-issuer', 'iss', '--ws-audience', 'aud', '--ws-max-clock-skew-seconds', '5']
      await stage.listen([...words, ...claims])
      const now = Math.floor(Date.now() / 1000)
      const good = { iss: 'iss', aud: 'aud', exp: now + 60 }
      await stage.rejected('no header')
      await stage.rejected('junk', { token: 'junk' })
      for (const [label, body, key, header] of [
        ['good', good],
        ['no exp', { iss: 'iss', aud: 'aud' }],
        ['expired 60s', { ...good, exp: now - 60 }],
        ['expired 2s (within skew)', { ...good, exp: now - 2 }],
        ['nbf future', { ...good, nbf: now + 60 }],
        ['wrong iss', { ...good, iss: 'x' }],
        ['wrong aud', { ...good, aud: 'x' }],
        ['aud array', { ...good, aud: ['x', 'aud'] }],
        ['wrong secret', good, 'z'.repeat(40)],
        ['alg none', good, secret, { alg: 'none' }],
        ['alg HS512 header', good, secret, { alg: 'HS512' }],
      ] as const) {
        await stage.rejected(label, { token: signed(body, key ?? secret, header ?? { alg: 'HS256', typ: 'JWT' }) })
      }
    },
  },
  {
    name: 'unix-socket',
    about: 'The same framing over a unix socket: its mode, a turn, a second client, an Origin.',
    script: [{ say: ['hi'] }],
    async run(stage) {
      const path = await stage.listenUnix()
      const stat = statSync(path)
      stage.event({ socket: stat.isSocket(), mode: (stat.mode & 0o777).toString(8) })
      const a = await stage.ws()
      await a.initialize()
      await stage.turn(a, await stage.thread(a), 'go')
      await a.quiet(200)
      const b = await stage.ws()
      await b.initialize()
      await b.ask('thread/loaded/list', {})
      try {
        const evil = await stage.ws({ origin: 'http://evil' })
        stage.event({ originOnUnix: 'accepted' })
        evil.cut()
      } catch (error) {
        stage.event({ originOnUnix: error instanceof Refused ? error.status : String(error) })
      }
      a.end()
      await stage.sleep(200)
      stage.event({ socketStillThere: existsSync(path) })
    },
  },
  {
    name: 'stdio-eof',
    about: 'The end of stdin ends the server, running turn or not.',
    script: [{ say: ['one ', 'two'], gateAfter: 'g' }],
    async run(stage) {
      const a = await stage.stdio()
      await a.initialize()
      const threadId = await stage.thread(a)
      await a.ask('turn/start', { threadId, input: text('go') })
      await a.until('item/agentMessage/delta')
      a.end()
      for (let tries = 0; tries < 120 && !a.closed; tries += 1) await stage.sleep(50)
      stage.event({ exited: a.closed, code: exitCode(a.closedBy) })
      if (a.closed) return
      stage.model.release('g')
      for (let tries = 0; tries < 60 && !a.closed; tries += 1) await stage.sleep(50)
      stage.event({ exitedAfterTurn: a.closed, code: exitCode(a.closedBy) })
    },
  },
  {
    name: 'overload',
    about: '4000 requests in one burst: how many are refused.',
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      const count = 4000
      let answered = 0
      let refused: unknown = null
      a.onText = received => {
        const message: unknown = JSON.parse(received)
        if (dig(message, 'id') === undefined) return
        answered += 1
        if (dig(message, 'error.code') === -32001) refused ??= dig(message, 'error')
      }
      for (let n = 0; n < count; n += 1) a.rawUnrecorded(`{"id":"o${n}","method":"thread/list","params":{}}`)
      for (let tries = 0; tries < 600 && answered < count && !a.closed; tries += 1) await stage.sleep(50)
      a.onText = null
      const event = { sent: count, overloadedSeen: refused !== null, sampleError: refused }
      stage.event({ ...event, answeredAll: answered === count, open: !a.closed })
    },
  },
  {
    name: 'slow-reader',
    about: 'A client that stops reading while answers of 1.4 MB pile up: is it dropped, does another one suffer?',
    setting: { files: { 'big.bin': 'z'.repeat(1 << 20) } },
    async run(stage) {
      await stage.listen()
      const a = await stage.ws()
      await a.initialize()
      let answered = 0
      let refused = 0
      a.onText = received => {
        if (received.includes('-32001')) refused += 1
        else answered += 1
      }
      a.socket.pause()
      const b = await stage.ws()
      await b.initialize({ name: 'second' })
      const path = `${stage.cwd}/big.bin`
      for (let n = 0; n < 120; n += 1) {
        a.rawUnrecorded(JSON.stringify({ id: `s${n}`, method: 'fs/readFile', params: { path } }))
        await stage.sleep(10)
      }
      await stage.sleep(500)
      const since = Date.now()
      await b.ask('thread/loaded/list', {})
      const otherConnectionResponsive = Date.now() - since < 2000
      a.socket.resume()
      for (let tries = 0; tries < 60 && answered + refused < 120 && !a.closed; tries += 1) await stage.sleep(100)
      a.onText = null
      const event = { otherConnectionResponsive, slowClosed: a.closed, close: closeOf(a) }
      stage.event({ ...event, answeredAll: answered === 120 })
    },
  },
]

const closeOf = (talker: WsTalker): object | null =>
  talker.closedBy === null ? null : { code: Number(talker.closedBy), reason: '' }

const exitCode = (closedBy: string | null): number | null => (/^\d+$/.test(closedBy ?? '') ? Number(closedBy) : null)

/** A JSON web token signed with HMAC-SHA256, whatever its header says. */
function signed(claims: object, secret: string, header: object): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const body = `${encode(header)}.${encode(claims)}`
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`
}
