import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isUuid } from '../base/ids.ts'
import type { RemoteControlStatusReadResponse } from '../protocol/codex/types.gen.ts'
import type { Frame } from '../rpc/frame.ts'
import { notificationFrame } from '../rpc/message.ts'

/** Codex's remote control, which Skein does not offer: always disabled, under this installation's own id. */
export class RemoteControl {
  readonly #home: string
  #installationId: string | null = null

  constructor(home: string) {
    this.#home = home
  }

  status(): RemoteControlStatusReadResponse {
    return { status: 'disabled', serverName: hostname(), installationId: this.#id(), environmentId: null }
  }

  frame(): Frame {
    return notificationFrame('remoteControl/status/changed', this.status())
  }

  /** The id kept in the home folder; where none can be written, one for this process. */
  #id(): string {
    this.#installationId ??= readId(join(this.#home, 'installation_id'))
    return this.#installationId
  }
}

function readId(path: string): string {
  try {
    const kept = readFileSync(path, 'utf8').trim()
    if (isUuid(kept)) return kept
  } catch {
    // Not there yet, or not readable: a new one is as good.
  }
  const id = randomUUID()
  try {
    writeFileSync(path, `${id}\n`, { mode: 0o600 })
  } catch {
    // A read-only home: the id lives as long as the process.
  }
  return id
}
