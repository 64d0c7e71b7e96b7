import { lstatSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { readBounded } from './bounded-file.ts'
import type { Settings } from './config.ts'
import { projectFolders, realPath } from './project.ts'
import { oneLine } from './turn-context.ts'

/** Bytes of a user's own AGENTS.md that are read; it does not count against the budget of project documents. */
const MAX_OWN_BYTES = 256 * 1024

/** Hard limit of `project_doc_max_bytes`: what a repository says is sent with every request. */
const MAX_PROJECT_BYTES = 1024 * 1024

/** Names of instruction files, the first of a folder counts. */
const NAMES: readonly string[] = ['AGENTS.override.md', 'AGENTS.md']

/** What stands between a user's own instructions and those of the project. */
const SEPARATOR = '\n\n--- project-doc ---\n\n'

/** What people wrote down for agents that work in a folder. */
export interface Instructions {
  /** The files it comes from: the user's own first, then from the project's root down. */
  readonly sources: readonly string[]
  /** The user message that carries it, in codex's wrapper; null when nobody wrote anything. */
  readonly text: string | null
}

/** The part of the settings that decides where instructions are looked for. */
export type InstructionSettings = Pick<Settings, 'rootMarkers' | 'projectDocMaxBytes' | 'projectDocFallbacks'>

/**
 * Finds the instruction files of a thread: the home's, then those of each folder from the project's root to `cwd`, as
 * codex does. Unreadable, odd and empty files count as absent; a link out of the project is not followed, because a
 * repository must not be able to send other files of this machine to a model. Never throws.
 */
export function instructionsFor(
  settings: InstructionSettings,
  { home, cwd }: { readonly home: string; readonly cwd: string },
): Instructions {
  const own = ownDocument(home)
  const project = projectDocuments(settings, cwd)
  const documents = [...(own ? [own] : []), ...project]
  if (documents.length === 0) return { sources: [], text: null }
  const texts = [own?.text, project.map(({ text }) => text).join('\n\n')].filter(text => text)
  const title = project.length > 0 ? `# AGENTS.md instructions for ${oneLine(cwd)}` : '# AGENTS.md instructions'
  return {
    sources: documents.map(({ path }) => path),
    text: `${title}\n\n<INSTRUCTIONS>\n${texts.join(SEPARATOR)}\n</INSTRUCTIONS>`,
  }
}

interface Document {
  readonly path: string
  readonly text: string
}

/** The home's instructions, trimmed; an empty override leaves room for the plain file. */
function ownDocument(home: string): Document | null {
  for (const name of NAMES) {
    const path = join(home, name)
    const text = textOf(path, MAX_OWN_BYTES)?.text.trim()
    if (text) return { path, text }
  }
  return null
}

function projectDocuments(settings: InstructionSettings, cwd: string): readonly Document[] {
  const folders = projectFolders(cwd, settings.rootMarkers)
  const root = realPath(folders[0] ?? cwd)
  const names = [...NAMES, ...settings.projectDocFallbacks.filter(isPlainName)]
  let left = Math.min(settings.projectDocMaxBytes, MAX_PROJECT_BYTES)
  const found: Document[] = []
  for (const folder of folders) {
    const path = names.map(name => join(folder, name)).find(isThere)
    const read = path !== undefined && left > 0 && isInside(path, root) ? textOf(path, left) : null
    if (path === undefined || !read || read.text.trim() === '') continue
    left -= read.bytes
    found.push({ path, text: read.text })
  }
  return found
}

/** A file's text, at most `limit` bytes of it, with a replacement character where it is no UTF-8. */
function textOf(path: string, limit: number): { readonly text: string; readonly bytes: number } | null {
  const found = readBounded(path, limit)
  if (found.type !== 'file') return null
  return { text: found.bytes.toString('utf8'), bytes: found.bytes.length }
}

/** A fallback name comes from a configuration that a project may set; it must stay in its folder. */
const isPlainName = (name: string): boolean => name !== '' && name !== '..' && !/[/\\\0]/.test(name)

const isThere = (path: string): boolean => {
  try {
    const found = lstatSync(path)
    return found.isFile() || found.isSymbolicLink()
  } catch {
    return false
  }
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, realPath(path))
  return way !== '..' && !way.startsWith(`..${sep}`)
}
