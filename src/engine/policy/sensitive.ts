/** Names of files and folders that hold credentials, or settings that run programs. Reading them asks. */
const SECRETS: readonly RegExp[] = [
  /^\.(env|envrc|env\..*)$/i,
  /^\.(ssh|aws|azure|gnupg|kube|docker|cargo|gem|config|local|mozilla|password-store|skein|codex|claude|gemini)$/i,
  /^[._]netrc$|^\.(npmrc|yarnrc.*|pypirc|pgpass|my\.cnf|git-credentials|htpasswd|vault-token|terraformrc)$/i,
  /_history$|^\.(z|ba)?sh_?(history|sessions)$/i,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$/i,
  /^id_(rsa|dsa|ecdsa|ed25519)/i,
  /^(credentials?|secrets?|g?shadow-?|passwd-?|sudoers(\.d)?)$/i,
  /^(auth|credentials?|secrets?|tokens?|passwords?)\.(json|ya?ml|toml|ini|txt|env|cfg|conf)$/i,
]

/**
 * Whether reading this path may give away what nobody meant to show: credentials, other processes, devices. By its name
 * only: a link is not followed.
 */
export function isSensitive(path: string): boolean {
  if (path === '/dev/null') return false
  if (/^\/+(proc|sys|dev|run)(\/|$)/.test(normalised(path))) return true
  return path.split('/').some(name => SECRETS.some(secret => secret.test(name)))
}

/** Without `.` and `..`, as the system walks it, links aside. */
function normalised(path: string): string {
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '.' && name !== '') names.push(name)
  }
  return path.startsWith('/') ? `/${names.join('/')}` : names.join('/')
}

/** Whether a path stays below the folder that the command runs in. */
export function staysInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..')
}
