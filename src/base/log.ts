/** Where the server says what a person at the terminal should know. Never stdout: that is the protocol's. */
export interface Logger {
  debug(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LEVELS)[number]

/** One line a message on `out` (default stderr): `level message {"field":1}`. Control characters are escaped. */
export function createLogger(level: LogLevel = 'info', out: (line: string) => void = toStderr): Logger {
  const least = LEVELS.indexOf(level)
  const at =
    (name: LogLevel) =>
    (message: string, fields?: object): void => {
      if (LEVELS.indexOf(name) < least) return
      out(`skein ${name} ${printable(message)}${fields ? ` ${JSON.stringify(fields)}` : ''}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A logger for tests and for parts that run before there is one. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }

function toStderr(line: string): void {
  process.stderr.write(line)
}

/** Control, bidirectional and invisible characters as `\u{..}`, so that no log line or prompt can dress up as another. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, c => {
    return `\\u{${c.codePointAt(0)!.toString(16)}}`
  })
}
