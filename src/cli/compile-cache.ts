import module from 'node:module'

/** Keeps compiled code between starts where Node can (22 and newer); elsewhere does nothing. */
export function enableCompileCache(): void {
  const enable = (module as { enableCompileCache?: () => unknown }).enableCompileCache
  enable?.()
}
