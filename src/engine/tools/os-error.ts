const TEXTS: Readonly<Record<string, string>> = {
  EPERM: 'Operation not permitted',
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  EEXIST: 'File exists',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  ENOSPC: 'No space left on device',
  EROFS: 'Read-only file system',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
  ENOTEMPTY: 'Directory not empty',
  EBUSY: 'Device or resource busy',
}

/** A failure of the system in the words that codex uses: `No such file or directory (os error 2)`. */
export function osErrorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, errno } = error as NodeJS.ErrnoException
  const text = code === undefined ? undefined : TEXTS[code]
  return text && errno !== undefined ? `${text} (os error ${Math.abs(errno)})` : error.message
}
