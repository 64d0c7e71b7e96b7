import { join, resolve } from 'node:path'
import { build } from 'esbuild'

/** Programs of the bench that run as processes of their own: as plain files, so that no compiler's start is measured. */
export interface Programs {
  readonly floor: string
  readonly model: string
}

/** CommonJS packages ask for Node's own modules with `require`, which an ES module has to make for itself. */
const REQUIRE = "import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);"

/** Bundles them into `folder`. */
export async function buildPrograms(folder: string): Promise<Programs> {
  const at = (path: string): string => resolve(import.meta.dirname, path)
  await build({
    entryPoints: { floor: at('floor/main.ts'), model: at('model/main.ts') },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: REQUIRE },
    external: ['bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
  })
  return { floor: join(folder, 'floor.mjs'), model: join(folder, 'model.mjs') }
}
