import { dirname, join, resolve } from 'node:path'
import type { GitInfo } from './events.ts'
import { readBounded } from './settings/bounded-file.ts'

/** Bytes of a packed-refs file that are looked at; the file of a repository with many tags is larger than any other here. */
const MAX_REFS = 4 * 1024 * 1024
const MAX_SMALL = 64 * 1024
/** Folders above the working folder that are looked at, and links from ref to ref that are followed. */
const MAX_DEPTH = 64
const MAX_LINKS = 5

/**
 * Commit, branch and remote of the repository that `cwd` lies in; null outside of one. Reads a few small files and starts
 * nothing: `git` itself runs what a repository's own configuration says. Never waits and never throws.
 */
export function readGitInfo(cwd: string): GitInfo | null {
  const git = findGit(cwd)
  if (!git) return null
  const common = commonFolder(git)
  const head = small(join(git, 'HEAD'))
  if (head === null) return null
  const ref = /^ref:\s*(\S+)/.exec(head)?.[1] ?? null
  return {
    sha: ref === null ? shaIn(head) : resolveRef(ref, [git, common]),
    branch: ref?.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : null,
    originUrl: originIn(small(join(common, 'config')) ?? ''),
  }
}

/** The folder of the repository's files: `.git`, or where a file of that name points (worktrees, submodules). */
function findGit(cwd: string): string | null {
  let folder = resolve(cwd)
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const path = join(folder, '.git')
    if (small(join(path, 'HEAD')) !== null) return path
    const target = /^gitdir:\s*(.+?)\s*$/m.exec(small(path) ?? '')?.[1]
    if (target) return resolve(folder, target)
    const parent = dirname(folder)
    if (parent === folder) return null
    folder = parent
  }
  return null
}

/** A worktree keeps branches and configuration in the folder of the repository it belongs to. */
function commonFolder(git: string): string {
  const common = small(join(git, 'commondir'))?.trim()
  return common ? resolve(git, common) : git
}

function resolveRef(ref: string, folders: readonly string[], links = 0): string | null {
  // A ref is a path: one that climbs out of the repository is none.
  if (links > MAX_LINKS || !/^refs\/[^\\]+$/.test(ref) || ref.split('/').includes('..')) return null
  for (const folder of folders) {
    const loose = small(join(folder, ref))
    const next = loose === null ? undefined : /^ref:\s*(\S+)/.exec(loose)?.[1]
    if (next) return resolveRef(next, folders, links + 1)
    const sha = loose === null ? null : shaIn(loose)
    if (sha) return sha
  }
  return packed(folders.at(-1) ?? '', ref)
}

function packed(folder: string, ref: string): string | null {
  const text = read(join(folder, 'packed-refs'), MAX_REFS) ?? ''
  const line = text.split('\n').find(entry => entry.slice(entry.indexOf(' ') + 1).trim() === ref)
  return line === undefined ? null : shaIn(line)
}

/** `url` of the remote `origin`, without a password that stands in it. */
function originIn(config: string): string | null {
  let inOrigin = false
  for (const line of config.split('\n')) {
    const section = /^\s*\[\s*(\S+?)(?:\s+"(.*)")?\s*\]/.exec(line)
    if (section) inOrigin = section[1]?.toLowerCase() === 'remote' && section[2] === 'origin'
    const url = inOrigin ? /^\s*url\s*=\s*(.*?)\s*$/i.exec(line)?.[1] : undefined
    if (url) return withoutPassword(url.replace(/^"(.*)"$/, '$1'))
  }
  return null
}

const withoutPassword = (url: string): string => url.replace(/^(\w[\w+.-]*:\/\/[^/@:]*):[^/@]*@/, '$1@')

const shaIn = (text: string): string | null => /^([0-9a-f]{40}(?:[0-9a-f]{24})?)\b/.exec(text)?.[1] ?? null

const small = (path: string): string | null => read(path, MAX_SMALL)

function read(path: string, limit: number): string | null {
  const found = readBounded(path, limit)
  return found.type === 'file' ? found.bytes.toString('utf8') : null
}
