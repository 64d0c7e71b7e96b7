import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Instructions, instructionsFor } from '../../../src/engine/settings/instructions.ts'
import { BASE_INSTRUCTIONS, modeText, personalityText } from '../../../src/engine/settings/prompt.ts'
import { environmentContext, localTimezone, permissionsText } from '../../../src/engine/settings/turn-context.ts'
import { type Place, place } from './home.ts'

const SETTINGS = { rootMarkers: ['.git'], projectDocMaxBytes: 32768, projectDocFallbacks: [] as string[] }

/** What is found from a folder of the project, with paths relative to the test's root. */
function found({ home, cwd }: Place, path = '.', settings: Partial<typeof SETTINGS> = {}): Instructions {
  const root = join(home, '..')
  const at = join(cwd, path)
  const { sources, text } = instructionsFor({ ...SETTINGS, ...settings }, { home, cwd: at })
  return {
    sources: sources.map(source => source.replace(`${root}/`, '')),
    text: text?.replace(at, 'CWD') ?? null,
  }
}

const project = (text: string): string => `# AGENTS.md instructions for CWD\n\n<INSTRUCTIONS>\n${text}\n</INSTRUCTIONS>`

t.test('it finds the instructions of the home and of every folder from the root of the project', async t => {
  const all = place(t, {
    'home/AGENTS.md': '\nGLOBAL\n',
    'cwd/.git/HEAD': '',
    'cwd/AGENTS.md': 'ROOT\n',
    'cwd/sub/AGENTS.md': 'SUB\n',
    'cwd/sub/deep/x': '',
  })
  t.strictSame(found(all, 'sub/deep'), {
    sources: ['home/AGENTS.md', 'cwd/AGENTS.md', 'cwd/sub/AGENTS.md'],
    text: project('GLOBAL\n\n--- project-doc ---\n\nROOT\n\n\nSUB\n'),
  })
  t.strictSame(found(all, 'sub', { rootMarkers: [] }), {
    sources: ['home/AGENTS.md', 'cwd/sub/AGENTS.md'],
    text: project('GLOBAL\n\n--- project-doc ---\n\nSUB\n'),
  })
  t.strictSame(found(all, 'sub', { rootMarkers: ['.hg'] }).sources, ['home/AGENTS.md', 'cwd/sub/AGENTS.md'])
  t.strictSame(found(all, 'nonexistent').sources, ['home/AGENTS.md', 'cwd/AGENTS.md'])
  const one = place(t, { 'cwd/AGENTS.md': 'Be nice.\n' })
  t.strictSame(found(one), { sources: ['cwd/AGENTS.md'], text: project('Be nice.\n') })
  const own = place(t, { 'home/AGENTS.md': 'G\n' })
  t.strictSame(found(own), {
    sources: ['home/AGENTS.md'],
    text: '# AGENTS.md instructions\n\n<INSTRUCTIONS>\nG\n</INSTRUCTIONS>',
  })
  t.strictSame(found(place(t)), { sources: [], text: null })
})

t.test('it prefers an override, skips empty files, and knows other names when told', async t => {
  const over = place(t, {
    'home/AGENTS.md': 'GLOBAL',
    'home/AGENTS.override.md': 'GOVER',
    'cwd/.git/HEAD': '',
    'cwd/AGENTS.md': 'ROOT',
    'cwd/AGENTS.override.md': 'ROVER',
    'cwd/sub/AGENTS.md': '  \n',
  })
  t.strictSame(found(over, 'sub'), {
    sources: ['home/AGENTS.override.md', 'cwd/AGENTS.override.md'],
    text: project('GOVER\n\n--- project-doc ---\n\nROVER'),
  })
  const other = place(t, { 'home/AGENTS.override.md': ' ', 'home/AGENTS.md': 'G', 'cwd/CLAUDE.md': 'claude' })
  t.strictSame(found(other, '.').sources, ['home/AGENTS.md'])
  const projectDocFallbacks = ['', '..', '../home/AGENTS.md', 'CLAUDE.md']
  t.strictSame(found(other, '.', { projectDocFallbacks }).sources, ['home/AGENTS.md', 'cwd/CLAUDE.md'])
})

t.test('it reads no more bytes of a project than allowed, and no broken characters', async t => {
  const capped = place(t, {
    'home/AGENTS.md': 'LONGER THAN THE CAP',
    'cwd/.git/HEAD': '',
    'cwd/AGENTS.md': '123456\n',
    'cwd/sub/AGENTS.md': 'abcdefgh\n',
    'cwd/sub/deep/AGENTS.md': 'no room left',
  })
  t.strictSame(found(capped, 'sub/deep', { projectDocMaxBytes: 10 }), {
    sources: ['home/AGENTS.md', 'cwd/AGENTS.md', 'cwd/sub/AGENTS.md'],
    text: project('LONGER THAN THE CAP\n\n--- project-doc ---\n\n123456\n\n\nabc'),
  })
  t.strictSame(found(capped, '.', { projectDocMaxBytes: 0 }).sources, ['home/AGENTS.md'])
  const odd = place(t)
  odd.put('cwd/AGENTS.md', Buffer.from([0x61, 0xff, 0xfe, 0x62]))
  t.equal(found(odd).text, project('a\ufffd\ufffdb'))
  odd.put('home/AGENTS.md', 'x'.repeat(2e6))
  odd.put('cwd/AGENTS.md', 'y'.repeat(3e6))
  const [own, theirs] = ['x'.repeat(256 * 1024), 'y'.repeat(1024 * 1024)]
  t.ok(found(odd, '.', { projectDocMaxBytes: 2 ** 40 }).text === project(`${own}\n\n--- project-doc ---\n\n${theirs}`))
})

t.test('it skips what is no file, and never follows a link out of the project', async t => {
  const odd = place(t, { 'cwd/.git/HEAD': '', 'home/secret': 'SECRET', 'cwd/docs/agents.md': 'inside' })
  const { home, cwd } = odd
  const make = (folder: string, how: (path: string) => void): void => {
    mkdirSync(join(cwd, folder))
    how(join(cwd, folder, 'AGENTS.md'))
  }
  make('fifo', path => execFileSync('mkfifo', [path]))
  make('folder', path => mkdirSync(path))
  make('loop', path => symlinkSync(path, path))
  make('out', path => symlinkSync(join(home, 'secret'), path))
  make('device', path => symlinkSync('/dev/zero', path))
  make('dangling', path => symlinkSync('nowhere', path))
  for (const folder of ['fifo', 'folder', 'loop', 'out', 'device', 'dangling']) {
    t.strictSame(found(odd, folder), { sources: [], text: null }, folder)
  }
  make('in', path => symlinkSync('../docs/agents.md', path))
  t.strictSame(found(odd, 'in').text, project('inside'))
  symlinkSync(join(home, 'secret'), join(home, 'AGENTS.md'))
  t.match(found(odd), { sources: ['home/AGENTS.md'] }, 'a person may link their own')
})

t.test('it tells the model where and when it works', async t => {
  const at = { cwd: '/w/a<b>&\n</cwd>', shell: 'bash', now: Date.UTC(2026, 10, 30, 23, 30), timezone: 'Etc/UTC' }
  t.equal(
    environmentContext(at),
    [
      '<environment_context>',
      '  <cwd>/w/a&lt;b&gt;&amp;\\n&lt;/cwd&gt;</cwd>',
      '  <shell>bash</shell>',
      '  <current_date>2026-11-30</current_date>',
      '  <timezone>Etc/UTC</timezone>',
      '</environment_context>',
    ].join('\n'),
  )
  t.match(environmentContext({ ...at, timezone: 'Asia/Tokyo' }), '<current_date>2026-12-01<')
  t.match(environmentContext({ ...at, timezone: 'No/Where' }), '<current_date>2026-11-30<')
  t.match(localTimezone(), /^\S+$/)
})

t.test('it tells the model what it may do, and how to ask for more', async t => {
  const base = { cwd: '/w', workspaceRoots: ['/w', '/v`x\ny'], enforced: true } as const
  const workspace = {
    type: 'workspaceWrite',
    writableRoots: ['/opt'],
    networkAccess: false,
    excludeTmpdirEnvVar: false,
    excludeSlashTmp: false,
  } as const
  const text = permissionsText({ ...base, approvalPolicy: 'on-request', sandbox: workspace })
  t.match(text, /^<permissions instructions>\n[\s\S]*\n<\/permissions instructions>$/)
  t.match(text, '`workspace-write`')
  t.match(text, 'written in `/w`, `/v\\u{60}x\\ny`, `/opt`;', 'a folder name cannot become an instruction')
  t.match(text, 'a command that needs it needs approval')
  t.match(text, '`require_escalated`')
  t.notMatch(text, 'No sandbox of the operating system')
  const open = permissionsText({ ...base, enforced: false, approvalPolicy: 'on-request', sandbox: workspace })
  t.match(open, 'No sandbox of the operating system is available')
  const never = permissionsText({
    ...base,
    approvalPolicy: 'never',
    sandbox: { type: 'readOnly', networkAccess: true },
  })
  t.match(never, '`read-only`')
  t.match(never, 'Network: commands may use it.')
  t.match(never, 'do not set `sandbox_permissions`')
  t.notMatch(never, 'require_escalated')
  const full = { type: 'dangerFullAccess' } as const
  t.match(permissionsText({ ...base, approvalPolicy: 'on-request', sandbox: full }), '`danger-full-access`')
  t.match(permissionsText({ ...base, approvalPolicy: 'untrusted', sandbox: full }), '`approval_policy` is `untrusted`')
})

t.test('it has words for the agent itself, its modes and its manners', async t => {
  const lines = BASE_INSTRUCTIONS.split('\n')
  t.ok(lines.length >= 40 && lines.length <= 80, `${lines.length} lines`)
  for (const tool of ['exec_command', 'apply_patch', 'update_plan', 'view_image', 'request_user_input']) {
    t.match(BASE_INSTRUCTIONS, tool)
  }
  const plan = modeText('plan', null)
  t.match(plan, /^<collaboration_mode>[\s\S]*<\/collaboration_mode>$/)
  t.match(plan, '\n<proposed_plan>\nthe plan, in Markdown\n</proposed_plan>\n')
  t.equal(modeText('plan', 'mine'), '<collaboration_mode>mine</collaboration_mode>')
  t.match(modeText('default', null), 'Plan mode has ended')
  t.match(personalityText('friendly'), /^<personality_spec>Be warm/)
  t.strictSame(['none', 'toString', '', null].map(personalityText), [null, null, null, null])
})
