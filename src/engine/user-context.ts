import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { extname } from 'node:path'
import type { Input, UserMessage } from './items.ts'
import type { ContextEntry, Part } from './models/model.ts'

/** Bytes of a local image that are sent along; providers refuse larger ones. */
const MAX_IMAGE = 20 * 1024 * 1024

/**
 * What the model is shown of a message whose pictures lie on disk: they are read now, because the file may be gone when
 * the thread is resumed. Null when the message itself says everything.
 */
export function contextOf(message: UserMessage): ContextEntry | null {
  if (!message.content.some(input => input.type === 'localImage')) return null
  let image = 0
  const parts = message.content.flatMap((input): Part[] => {
    if (input.type === 'image' || input.type === 'localImage') image++
    return input.type === 'localImage' ? localImage(input, image) : partsOf(input)
  })
  return { type: 'message', role: 'user', parts }
}

/** What the model is shown of one input. */
export function partsOf(input: Input): Part[] {
  switch (input.type) {
    case 'text':
      return [{ type: 'text', text: input.text }]
    case 'image':
      return [{ type: 'image', url: input.url, detail: input.detail ?? 'high' }]
    case 'localImage':
      return [{ type: 'text', text: `(image ${input.path})` }]
    case 'skill':
      return [{ type: 'text', text: `(skill ${input.name}: ${input.path})` }]
    case 'mention':
      // The text beside it already names what is mentioned; the path is for the client.
      return []
    default:
      return input satisfies never
  }
}

function localImage(input: Extract<Input, { type: 'localImage' }>, number: number): Part[] {
  const read = readImage(input.path)
  if (typeof read === 'string') return [{ type: 'text', text: `(image ${input.path} could not be read: ${read})` }]
  const url = `data:${mimeOf(input.path, read)};base64,${read.toString('base64')}`
  return [
    { type: 'text', text: `<image name=[Image #${number}] path=${JSON.stringify(input.path)}>` },
    { type: 'image', url, detail: input.detail ?? 'high' },
    { type: 'text', text: '</image>' },
  ]
}

/** The file's bytes, or why there are none. Devices and pipes are refused: they may never end. */
function readImage(path: string): Buffer | string {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'cannot be opened'
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return 'not a file'
    if (stat.size > MAX_IMAGE) return `larger than ${MAX_IMAGE} bytes`
    const bytes = Buffer.alloc(stat.size)
    return bytes.subarray(0, readSync(fd, bytes, 0, stat.size, 0))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'cannot be read'
  } finally {
    closeSync(fd)
  }
}

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
}

function mimeOf(path: string, bytes: Buffer): string {
  if (bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg'
  if (bytes.subarray(0, 4).toString('latin1') === '\u0089PNG') return 'image/png'
  return BY_EXTENSION[extname(path).toLowerCase()] ?? 'image/png'
}
