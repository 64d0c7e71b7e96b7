import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Stats } from 'node:fs'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** Fewer characters than this can be guessed. */
const MIN_TOKEN = 32

/** More bytes than this are no token. */
const MAX_TOKEN = 8192

/** Where the token is kept when none is named. */
export const defaultTokenFile = (home: string): string => join(home, 'app-server', 'ws-token')

/**
 * Makes a token file at `path` unless something is there already: 256 random bits, readable by its owner only, complete from
 * the moment it has its name, so that servers that start together all end up with one token.
 */
export function createTokenFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  const fd = openSync(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    writeSync(fd, `${randomBytes(32).toString('base64url')}\n`)
    fsyncSync(fd)
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    closeSync(fd)
    rmSync(draft, { force: true })
  }
}

/** The token in `path`. Throws an `Error` that says what is wrong with the file: nothing unsafe is ever used. */
export function readToken(path: string): string {
  const token = readOwnFile(path).replace(/[ \t\r\n]+$/, '')
  if (token === '') throw refused(path, 'is empty')
  if (/[\r\n]/.test(token)) throw refused(path, 'has more than one line')
  if (!/^[\x21-\x7e]+$/.test(token)) throw refused(path, 'holds characters that no header can carry')
  if (token.length < MIN_TOKEN) throw refused(path, `holds fewer than ${MIN_TOKEN} characters`)
  return token
}

function readOwnFile(path: string): string {
  let fd: number
  try {
    // Without O_NONBLOCK a fifo would hang the start.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = codeOf(error)
    throw refused(
      path,
      code === 'ELOOP' ? 'is a symbolic link' : code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`,
    )
  }
  try {
    const stats = fstatSync(fd)
    const fault = faultOf(stats)
    if (fault) throw refused(path, fault)
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

function faultOf(stats: Stats): string | null {
  if (!stats.isFile()) return 'is not a regular file'
  if (stats.size > MAX_TOKEN) return `is larger than ${MAX_TOKEN} bytes`
  if (!process.getuid) return null // Windows has no owner or mode to look at
  if (stats.uid !== process.getuid()) return 'belongs to another user'
  if (stats.mode & 0o077) return 'can be read by others: run chmod 600 on it'
  return null
}

const refused = (path: string, fault: string): Error => new Error(`the websocket token file ${path} ${fault}`)

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/**
 * A check of `Authorization` headers against `token`: null if it is the one, else codex's text of the refusal. Compares
 * hashes, so that its time tells nothing about how much of a guess was right.
 */
export function bearerCheck(token: string): (headers: readonly string[]) => string | null {
  const expected = digest(token)
  return headers => {
    if (headers.length === 0) return 'missing websocket bearer token'
    const given = headers.length === 1 ? /^bearer +(\S.*)$/i.exec(headers[0]!)?.[1]?.trimEnd() : undefined
    if (given === undefined) return 'invalid authorization header'
    return timingSafeEqual(digest(given), expected) ? null : 'invalid websocket bearer token'
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
