import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { EngineError } from '../../../src/engine/errors.ts'
import { loadSettings, type SettingsOptions, type SettingsSource } from '../../../src/engine/settings/settings.ts'

/** A home and a project folder of one test, gone when it ends. */
export interface Place {
  readonly home: string
  readonly cwd: string
  /** Writes a file below the root of both (`home/...`, `cwd/...`). */
  put(path: string, text: string | Buffer): string
  load(options?: Partial<SettingsOptions>): SettingsSource
}

export function place(t: Test, files: Readonly<Record<string, string>> = {}): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'skein-settings-')))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  const home = join(root, 'home')
  const cwd = join(root, 'cwd')
  mkdirSync(cwd)
  const put = (path: string, text: string | Buffer): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    return join(root, path)
  }
  for (const [path, text] of Object.entries(files)) put(path, text)
  return { home, cwd, put, load: options => loadSettings({ home, cwd, env: { HOME: root }, ...options }) }
}

/** The code and message that `run` refuses with. */
export async function refusal(run: () => unknown): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await run()
  } catch (error) {
    if (error instanceof EngineError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('nothing was refused')
}
