import { v7 } from 'uuid'

/** A fresh UUIDv7: time-ordered, so a sorted list of threads or turns is a list by age. */
export const newId = (): string => v7()

const UUID = /^(?:urn:uuid:)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether `text` is a UUID of any version (upper case and a `urn:uuid:` prefix count, as in codex). */
export const isUuid = (text: string): boolean => UUID.test(text)
