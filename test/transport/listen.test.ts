import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { connect as connectSocket, createServer } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import type { WebSocket } from 'ws'
import { FakeTimers } from '../rpc/fake-channel.ts'
import { ask, dial, lines, message, open, raw, serve, temporary, UPGRADE, until } from './serve.ts'

t.test('http', t => {
  t.test('it answers probes without a token, and what is no upgrade with codex’s texts', async t => {
    const { port, drain } = await serve(t, 'ws://127.0.0.1:0')
    const needs = "400 Connection header did not include 'upgrade'"
    t.equal(await ask(port, 'GET /readyz'), '200 ok')
    t.equal(await ask(port, 'GET /healthz?verbose'), '200 ok')
    t.equal(await ask(port, 'HEAD /readyz'), '200')
    for (const path of ['/', '/native', '/../../etc/passwd', '/readyz/', '/READYZ', '//'])
      t.equal(await ask(port, `GET ${path}`), needs)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      t.equal(await ask(port, `${method} /readyz`), '405 Method Not Allowed')
    t.match(
      await raw(port, lines('POST / HTTP/1.1', `Host: localhost:${port}`, 'Content-Length: 999999')),
      /^HTTP\/1.1 405 /,
    )
    t.match(await raw(port, '\x16\x03\x01garbage\r\n\r\n'), /^HTTP\/1.1 400 /)
    // One read of the server: with more, the reset for what it left unread could overtake the answer.
    t.match(
      await raw(port, lines('GET / HTTP/1.1', `Host: localhost:${port}`, `X: ${'a'.repeat(20_000)}`)),
      /^HTTP\/1.1 431 /,
    )
    t.notMatch(await raw(port, lines('GET /readyz HTTP/1.1', `Host: localhost:${port}`)), /access-control/i)
    drain()
    t.equal(await ask(port, 'GET /readyz'), '503 draining')
    t.equal(await ask(port, 'GET /healthz'), '503 draining')
    t.equal(await ask(port, 'GET /', UPGRADE), '503 draining')
  })

  t.test('it refuses whatever a browser could send, on every path and before the token', async t => {
    const { port, token } = await serve(t, 'ws://127.0.0.1:0')
    const right = `Authorization: Bearer ${token()}`
    const marks = ['Origin: https://evil.example', 'Origin: null', `origin: http://127.0.0.1:${port}`, 'Origin:']
    marks.push('Sec-Fetch-Site: none', 'sec-fetch-mode: websocket', 'Sec-Fetch-Dest: empty', 'Sec-Fetch-Anything: 1')
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      'localhost',
      '',
      `localhost.:${port}`,
    ]
    hosts.push(
      `127.0.0.1:${port}@evil.example`,
      `0.0.0.0:${port}`,
      `10.0.0.1:${port}`,
      `[::2]:${port}`,
      `x127.0.0.1:${port}`,
    )
    const headers = [...marks.map(mark => [mark]), ...hosts.map(host => [`Host: ${host}`])]
    headers.push([`Host: 127.0.0.1:${port}`, 'Host: evil.example'], ['Host: evil.example', `Host: 127.0.0.1:${port}`])
    const got = new Map<string, string>()
    for (const extra of headers) {
      for (const start of ['GET /readyz', 'GET /healthz', 'GET /', 'POST /', 'OPTIONS /']) {
        got.set(`${start} ${extra}`, await ask(port, start, extra))
      }
      got.set(`upgrade ${extra}`, await ask(port, 'GET /', [...UPGRADE, ...extra]))
      got.set(`upgrade with token ${extra}`, await ask(port, 'GET /native', [...UPGRADE, right, ...extra]))
    }
    t.ok(got.size > 150)
    t.strictSame(
      [...got].filter(([, answer]) => answer !== '403'),
      [],
    )
    for (const host of [`localhost:${port}`, `LOCALHOST:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`]) {
      t.equal(await ask(port, 'GET /', [...UPGRADE, right, `Host: ${host}`]), '101', host)
    }
    t.match(await raw(port, lines('GET /readyz HTTP/1.0')), /^HTTP\/1.1 403 /, 'without a Host')
  })

  t.test('it takes any address for its name when it is bound to all', async t => {
    const { port, url } = await serve(t, 'ws://0.0.0.0:0')
    t.equal(url, `ws://0.0.0.0:${port}`)
    for (const host of [`192.168.1.7:${port}`, `[fe80::1]:${port}`, `localhost:${port}`]) {
      t.equal(await ask(port, 'GET /readyz', [`Host: ${host}`]), '200 ok', host)
    }
    for (const host of [`box.example:${port}`, '192.168.1.7', '192.168.1.7:1']) {
      t.equal(await ask(port, 'GET /readyz', [`Host: ${host}`]), '403', host)
    }
  })

  t.test('it wants the token on every upgrade, and nowhere else', async t => {
    const { port, token, tokenFile, home } = await serve(t, 'ws://127.0.0.1:0')
    t.equal(tokenFile, join(home, 'app-server', 'ws-token'))
    t.equal((statSync(tokenFile ?? '').mode & 0o777).toString(8), '600')
    const right = `Authorization: Bearer ${token()}`
    t.equal(await ask(port, 'GET /', UPGRADE), '401 missing websocket bearer token')
    t.equal(await ask(port, 'GET /', [...UPGRADE, 'Authorization: Basic x']), '401 invalid authorization header')
    t.equal(await ask(port, 'GET /', [...UPGRADE, `${right}x`]), '401 invalid websocket bearer token')
    t.equal(await ask(port, 'GET /', [...UPGRADE, right, right]), '401 invalid authorization header')
    t.equal(await ask(port, `GET /?token=${token()}`, UPGRADE), '401 missing websocket bearer token')
    t.equal(
      await ask(port, 'GET /', [...UPGRADE, `Sec-WebSocket-Protocol: ${token()}`]),
      '401 missing websocket bearer token',
    )
    t.equal(await ask(port, 'GET /any/path', [...UPGRADE, right]), '101')
    t.match(await ask(port, 'GET /', ['Connection: Upgrade', 'Upgrade: h2c', right]), /^4\d\d /)
    t.match(await ask(port, 'GET /', [...UPGRADE.slice(0, 3), right]), /^4\d\d /, 'no key')
    const again = await serve(t, 'ws://127.0.0.1:0', { home })
    t.equal(again.token(), token(), 'the next server uses the same')
  })

  t.test('it does not start where it would be unsafe, or where somebody else is', async t => {
    const dir = t.testdir({ open: 'x'.repeat(40) })
    chmodSync(join(dir, 'open'), 0o644)
    await t.rejects(serve(t, 'ws://0.0.0.0:0', { wsAuth: 'off' }), {
      message: 'refusing to listen on ws://0.0.0.0:0 without a token: --ws-auth off is for loopback addresses only',
    })
    await t.rejects(serve(t, 'ws://[::]:0', { wsAuth: 'off' }), { message: /without a token/ })
    await t.rejects(serve(t, 'ws://127.0.0.1:0', { wsAuth: join(dir, 'open') }), { message: /can be read by others/ })
    await t.rejects(serve(t, 'ws://127.0.0.1:0', { wsAuth: join(dir, 'missing') }), { message: /does not exist/ })
    const { url } = await open(t)
    await t.rejects(serve(t, url, { wsAuth: 'off' }), { message: new RegExp(`^cannot listen on ${url}: .*EADDRINUSE`) })
  })

  t.test('it gives a stranger five seconds, and room to sixty-four of them', async t => {
    const timers = new FakeTimers()
    const { port } = await serve(t, 'ws://127.0.0.1:0', { wsAuth: 'off', after: timers.after })
    const strangers: { socket: Socket; closed: boolean }[] = []
    const stranger = (): Promise<void> => {
      return new Promise(resolve => {
        const socket = connectSocket(port, '127.0.0.1', () => {
          socket.write('GET / HTTP/1.1\r\n')
          resolve()
        })
        const entry = { socket, closed: false }
        strangers.push(entry)
        socket.on('error', () => {})
        socket.on('close', () => {
          entry.closed = true
        })
      })
    }
    const ws = await dial(`ws://127.0.0.1:${port}`)
    t.strictSame(timers.pending, [], 'who has got in is no stranger')
    for (let n = 0; n < 70; n++) await stranger()
    await until(() => strangers.filter(({ closed }) => closed).length === 6)
    t.ok(
      strangers.slice(0, 6).every(({ closed }) => closed),
      'the oldest went',
    )
    t.strictSame([timers.pending.length, timers.pending[0]?.ms], [64, 5000])
    const other = await dial(`ws://127.0.0.1:${port}`)
    timers.fire()
    await until(() => strangers.every(({ closed }) => closed))
    for (const socket of [ws, other]) {
      socket.send('{"id":1,"method":"m","params":1}')
      t.equal(await message(socket), '{"id":1,"result":1}')
      socket.terminate()
    }
  })
  t.end()
})

t.test('unix', t => {
  const dialUnix = (path: string): Promise<WebSocket> => dial(`ws+unix:${path}:/rpc`)
  const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8)

  t.test('it speaks the same WebSocket, to this user only', async t => {
    const old = process.umask(0)
    t.teardown(() => process.umask(old))
    const home = join(temporary(t), 'home')
    const served = await serve(t, 'unix://', { home })
    const path = join(home, 'app-server', 'app-server.sock')
    t.strictSame([served.url, served.tokenFile], [`unix://${path}`, null])
    t.strictSame([mode(path), mode(join(home, 'app-server')), mode(home)], ['600', '700', '700'])
    const ws = await dialUnix(path)
    ws.send('{"id":1,"method":"m"}')
    t.equal(await message(ws), '{"id":1,"result":null}')
    t.strictSame(
      served.channels.map(channel => [channel.transport, channel.path]),
      [['unix', '/rpc']],
    )
    t.equal(await ask(path, 'GET /readyz'), '200 ok')
    t.equal(await ask(path, 'GET /', [...UPGRADE, 'Origin: null']), '403')
    t.equal(await ask(path, 'GET /readyz', ['Sec-Fetch-Site: none']), '403')
    t.equal(await ask(path, 'GET /readyz', ['Host: a', 'Host: b']), '403')
    served.drain()
    t.equal(await ask(path, 'GET /readyz'), '503 draining')
    served.close()
    t.equal(existsSync(path), false, 'the socket goes with its listener')
    ws.terminate()
  })

  t.test('it takes over a dead socket and refuses a live one', async t => {
    const path = join(temporary(t), 's')
    const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    const child = spawn(process.execPath, ['-e', program])
    await new Promise(resolve => child.on('exit', resolve))
    t.ok(existsSync(path), 'it was left behind')
    const served = await serve(t, `unix://${path}`)
    await t.rejects(serve(t, `unix://${path}`), { message: `another server is listening on unix://${path}` })
    const ws = await dialUnix(path)
    t.equal(served.channels.length, 1)
    ws.terminate()
  })

  t.test('it lets exactly one of many starters have a dead socket', async t => {
    const dir = temporary(t)
    for (let round = 0; round < 10; round++) {
      const path = join(dir, `s${round}`)
      const dead = createServer()
      await new Promise<void>(resolve => dead.listen(join(dir, 'd'), resolve))
      const { linkSync } = await import('node:fs')
      linkSync(join(dir, 'd'), path)
      await new Promise(resolve => dead.close(resolve))
      const starts = await Promise.allSettled(Array.from({ length: 8 }, () => serve(t, `unix://${path}`)))
      const winners = starts.filter(({ status }) => status === 'fulfilled')
      t.equal(winners.length, 1)
      const ws = await dialUnix(path)
      ws.terminate()
    }
  })

  t.test('it keeps its hands off what is not a socket, and off directories that are open to others', async t => {
    const dir = temporary(t)
    writeFileSync(join(dir, 'file'), 'important')
    symlinkSync(join(dir, 'file'), join(dir, 'link'))
    for (const name of ['file', 'link']) {
      await t.rejects(serve(t, `unix://${dir}/${name}`), {
        message: `${dir}/${name} is in the way and is not a socket`,
      })
    }
    t.equal(readFileSync(join(dir, 'file'), 'utf8'), 'important')
    for (const shared of [0o777, 0o1777, 0o750, 0o701]) {
      chmodSync(dir, shared)
      await t.rejects(serve(t, `unix://${dir}/s`), {
        message: `the socket directory ${dir} is open to others: run chmod 700 on it`,
      })
      t.equal(existsSync(join(dir, 's')), false)
    }
    chmodSync(dir, 0o700)
    await t.rejects(serve(t, `unix://${dir}/file/s`), { code: /ENOTDIR|EEXIST/ })
  })

  t.test('it refuses a path that is too long for a socket', async t => {
    const dir = temporary(t)
    const fits = join(dir, 'l'.repeat(107 - dir.length - 1))
    const served = await serve(t, `unix://${fits}`)
    const ws = await dialUnix(fits)
    t.equal(served.channels.length, 1)
    ws.terminate()
    await t.rejects(serve(t, `unix://${fits}l`), { message: `the socket path ${fits}l is longer than 107 bytes` })
    await t.rejects(serve(t, `unix://${dir}/${'é'.repeat(53)}`), { message: /longer than 107 bytes/ })
  })

  t.test('it does not delete a socket that has become another’s', async t => {
    const path = join(temporary(t), 's')
    const first = await serve(t, `unix://${path}`)
    rmSync(path)
    const second = await serve(t, `unix://${path}`)
    first.close()
    const ws = await dialUnix(path)
    t.equal(second.channels.length, 1)
    ws.terminate()
  })
  t.end()
})

t.test('stdio and off', async t => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const served = await serve(t, 'stdio://', { stdin: input, stdout: output })
  t.strictSame([served.url, served.tokenFile, served.channels.length], ['stdio://', null, 1])
  input.write('{"id":1,"method":"m"}\n')
  await until(() => output.readableLength > 0)
  t.equal(String(output.read()), '{"id":1,"result":null}\n')
  t.equal((await serve(t, 'off')).url, 'off')
})
