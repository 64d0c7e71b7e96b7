import { enableCompileCache } from './compile-cache.ts'

/** The command `skein`. The road to `app-server` on stdio stays short: nothing else is loaded before it reads. */
async function main(argv: readonly string[]): Promise<void> {
  enableCompileCache()
  const { readCommand } = await import('./command.ts')
  const command = readCommand(argv)
  switch (command.name) {
    case 'app-server':
      return (await import('./serve.ts')).serve(command)
    case 'version':
      return void process.stdout.write(`${(await import('./version.ts')).versionLine(process.env)}\n`)
    case 'help':
      return void process.stdout.write((await import('./help.ts')).helpText(command.topic))
    case 'wrong':
      process.stderr.write(`skein: ${command.message}\nTry \`skein --help\`.\n`)
      process.exitCode = 2
      return
    default:
      command satisfies never
  }
}

await main(process.argv.slice(2))
