/**
 * Bundles the program into `dist/`:
 *
 *     npx tsx scripts/build.ts [--sourcemap]
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundle, optionalPackages } from './bundle.ts'

const at = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const entry = at('src/cli/main.ts')

if (existsSync(entry)) {
  const external = await optionalPackages(at('package.json'))
  await bundle({ entry, outdir: at('dist'), sourcemap: process.argv.includes('--sourcemap'), external })
} else {
  console.error('src/cli/main.ts is not there yet, so there is nothing to bundle')
}
