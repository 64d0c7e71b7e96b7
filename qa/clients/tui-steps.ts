import { readFileSync } from 'node:fs'
import { type Pane, quoted } from './tui-pane.ts'
import { answerLine, COMPOSER, type Walk } from './tui-walk.ts'

/** One thing a person does and what must be seen of it. It throws when it is not seen. */
export type Step = (walk: Walk) => Promise<void>
export type Steps = Readonly<Record<string, Step>>

const ASKS_COMMAND = /Would you like to run the following command\?/
const ASKS_EDIT = /Would you like to make the following edits\?/
const CANCELLED = /You canceled the request to run/
const INTERRUPTED = /Conversation interrupted/
/** An error in the conversation. */
const RED = /^■ /m

/** A folder above the working directory: a patch there needs a person's consent. */
const OUTSIDE = '../outside.txt'

/** The steps of an ordinary day, in order. Each works on its own too, in a TUI that has just been started. */
export const STEPS: Steps = {
  async start(walk) {
    const tui = await walk.start()
    const { version, model } = walk.options
    const shown = await tui.see(new RegExp(`OpenAI Codex \\(v${version.replaceAll('.', '\\.')}\\)`), modelName(model))
    if (RED.test(shown)) throw new Error(`it starts with an error\n${shown}`)
  },

  async 'text turn'(walk) {
    await walk.turn('say: words from the model', 'words from the model')
  },

  async 'command approved'(walk) {
    const tui = await askFor(walk, 'ask-run: touch approved.txt', ASKS_COMMAND, /\$ touch approved\.txt/)
    await walk.notMade('approved.txt')
    await tui.press('y')
    await walk.made('approved.txt')
    await tui.see(/You approved codex to run touch approved\.txt/, /Ran touch approved\.txt/)
    await walk.rest()
  },

  async 'command remembered'(walk) {
    const tui = await askFor(walk, 'ask-run: touch again.txt\nsay: first time', ASKS_COMMAND)
    await tui.press('a')
    await tui.see(answerLine('first time'))
    await walk.made('again.txt')
    await walk.rest()
    walk.remove('again.txt')
    await walk.turn('ask-run: touch again.txt\nsay: second time', 'second time')
    await walk.made('again.txt')
  },

  async 'command declined'(walk) {
    const tui = await askFor(walk, 'ask-run: touch declined.txt\nsay: going on without it', ASKS_COMMAND)
    await tui.press('d')
    await tui.see(/You did not approve codex to run touch declined\.txt/, answerLine('going on without it'))
    await tui.see(/\(not run: declined\)/)
    await walk.rest()
    await walk.notMade('declined.txt')
  },

  async 'command cancelled'(walk) {
    const tui = await askFor(walk, 'ask-run: touch cancelled.txt\nsay: never said', ASKS_COMMAND)
    await tui.press('Escape')
    const shown = await tui.see(CANCELLED, INTERRUPTED)
    await walk.rest()
    await walk.notMade('cancelled.txt')
    if (answerLine('never said').test(shown)) throw new Error(`the turn went on\n${shown}`)
    await walk.turn('say: still here', 'still here')
  },

  async 'patch approved'(walk) {
    const tui = await askFor(walk, `write: ${OUTSIDE} = by a patch\nsay: patched`, ASKS_EDIT, /outside\.txt/)
    await walk.notMade(OUTSIDE)
    await tui.press('y')
    await tui.see(answerLine('patched'))
    await walk.rest()
    const text = readFileSync(walk.file(OUTSIDE), 'utf8')
    if (text !== 'by a patch\n') throw new Error(`the file says ${JSON.stringify(text)}`)
    walk.remove(OUTSIDE)
  },

  async 'patch cancelled'(walk) {
    const tui = await askFor(walk, `write: ${OUTSIDE} = never\nsay: never patched`, ASKS_EDIT)
    await tui.press('Escape')
    await tui.see(INTERRUPTED)
    await walk.rest()
    await walk.notMade(OUTSIDE)
  },

  /** Pressed before the first line is complete: what has come of it stays. */
  async interrupt(walk) {
    const tui = await walk.tui()
    const words = Array.from({ length: 80 }, (_, index) => `word-${index + 1}`)
    await tui.say(`slow: ${PAUSE_MS}\nsay: ${words.join(' ')}`)
    // 0.171.0 shows an unfinished line, 0.142.5 only that it has been at it for a while.
    await tui.see(/\((?:[2-9]|\d\d)s • esc to interrupt\)|^• word-1 word-2 /m)
    await tui.press('Escape')
    const shown = await tui.see(INTERRUPTED, /^• word-1 word-2 /m, COMPOSER)
    await walk.rest()
    if (/word-80$/m.test(belowLast(shown, '•'))) throw new Error(`it was said to its end\n${shown}`)
    await walk.turn('say: after the break', 'after the break')
  },

  /** Pressed amid lines. There 0.142.5 takes no Esc, whatever the server: Ctrl-C does the same. */
  async 'interrupt amid lines'(walk) {
    const tui = await beginVerses(walk, 'breaking')
    await tui.press(walk.options.version === '0.142.5' ? 'C-c' : 'Escape')
    const shown = await tui.see(INTERRUPTED, answerLine('breaking line 1'), answerLine('breaking line 2'), COMPOSER)
    await walk.rest()
    if (answerLine(`breaking line ${VERSES}`).test(shown)) throw new Error(`it was said to its end\n${shown}`)
    await walk.turn('say: after the second break', 'after the second break')
  },

  async steer(walk) {
    const mark = walk.mark
    const tui = await beginVerses(walk, 'steered')
    await tui.type('say: the new course')
    await tui.press('Enter')
    await walk.sent(mark, 'turn/steer')
    await tui.see(answerLine('the new course'), /^› say: the new course$/m)
    await tui.see(answerLine('steered line 1'), answerLine(`steered line ${VERSES}`))
    await walk.rest()
  },

  async 'queued message'(walk) {
    const tui = await beginVerses(walk, 'waiting')
    await tui.type('say: what was queued')
    await tui.press('Tab')
    const queued = await tui.see(/Queued follow-up inputs/, /↳ say: what was queued/)
    if (answerLine(`waiting line ${VERSES}`).test(queued)) throw new Error(`the turn was over already\n${queued}`)
    await tui.see(answerLine('what was queued'), answerLine(`waiting line ${VERSES}`))
    await walk.rest()
  },

  async 'shell escape'(walk) {
    const mark = walk.mark
    const tui = await walk.tui()
    await tui.say('!echo sum-$((40+2)) && exit 3')
    await tui.see(/You ran echo sum-/, /sum-42$/m)
    await walk.sent(mark, 'thread/shellCommand')
    await walk.rest()
  },

  async 'failed turn'(walk) {
    const tui = await walk.tui()
    await tui.say('fail: server_error the model broke down')
    await tui.see(/^■ .*the model broke down/m)
    await walk.rest()
    // In Chat Completions messages without an answer between them are one, and the mock model would fail again.
    if (walk.options.model === 'chat') await newThread(walk)
    await walk.turn('say: recovered', 'recovered')
  },

  async model(walk) {
    const { second } = walk.options
    const first = await pickModel(walk, entry => !entry.isCurrent)
    if (!first) throw new Error('the picker marked no model as the current one')
    const before = second?.requests.length ?? 0
    await walk.turn('say: from the other model', 'from the other model')
    if (second && second.requests.length === before) throw new Error('the turn ran on the old model')
    await pickModel(walk, entry => entry.name === first.name)
    const after = second?.requests.length ?? 0
    await walk.turn('say: from the first model', 'from the first model')
    if (second && second.requests.length > after) throw new Error('the turn did not run on the first model again')
  },

  async status(walk) {
    const tui = await walk.tui()
    await tui.say('/status')
    await tui.see(/Model: +\S/, /Directory: +\S/, /Permissions: +\S/, /Session: +[0-9a-f]{8}-[0-9a-f-]{27}/)
  },

  async new(walk) {
    await walk.turn('say: in the old thread', 'in the old thread')
    const mark = walk.mark
    const tui = await newThread(walk)
    await walk.sent(mark, 'thread/start')
    await walk.turn('say: in the new thread', 'in the new thread')
    const shown = await tui.screen()
    if (RED.test(shown)) throw new Error(`the new thread begins with an error\n${shown}`)
  },

  async resume(walk) {
    await leaveHistory(walk, 'picked')
    const tui = await newThread(walk)
    await walk.turn('say: somewhere else', 'somewhere else')
    const mark = walk.mark
    await tui.say('/resume')
    await tui.see(/Resume a previous session/, /say: somewhere else/)
    await tui.type('words of picked')
    await tui.see(/[❯›] .*ago +say: words of picked/, /1 \/ 1 /)
    tui.lookBelow('say: somewhere else')
    await tui.press('Enter')
    await seeHistory(tui, 'picked')
    await walk.sent(mark, 'thread/resume')
    await walk.turn('say: resumed and well', 'resumed and well')
  },

  async quit(walk) {
    await leaveHistory(walk, 'last')
    await quit(walk)
  },

  /** Past the proxy, so that the server's own listener is what the client meets. */
  async 'resume --last'(walk) {
    const tui = await walk.start(['resume', '--last'], walk.remote(true))
    await seeHistory(tui, 'last')
    await tui.say('say: after coming back')
    await tui.see(answerLine('after coming back'))
    await quit(walk)
  },
}

/** Only where there is a token to be wrong. */
export const TOKEN_STEPS: Steps = {
  async 'no token'(walk) {
    const tui = await walk.launch([], ['--remote', walk.options.host.directUrl])
    const { code, screen } = await tui.ended()
    if (code === 0) throw new Error(`it got in without a token\n${screen}`)
    await walk.end()
  },
}

const modelName = (model: string): RegExp => (model === 'offline' ? /offline/i : /gpt-5\.4/i)

const belowLast = (screen: string, mark: string): string => screen.slice(screen.lastIndexOf(`\n${mark} `))

/** Sends a message whose tool needs consent and waits for the question. */
async function askFor(walk: Walk, text: string, ...question: readonly RegExp[]): Promise<Pane> {
  const tui = await walk.tui()
  await tui.say(text)
  await tui.see(...question)
  return tui
}

/** Lines of the slow answers, and the pause before each word: about 16 seconds in all, time enough to act within. */
const VERSES = 20
const PAUSE_MS = 200

/** Begins a slow answer of numbered lines and waits until the second one is on the screen. */
async function beginVerses(walk: Walk, name: string): Promise<Pane> {
  const lines = Array.from({ length: VERSES }, (_, index) => `${name} line ${index + 1}`)
  // The offline model makes a message of each `say`; the mock models know no `\n`.
  const say = walk.options.model === 'offline' ? [lines.join('\\n')] : lines
  const tui = await walk.tui()
  await tui.say([`slow: ${PAUSE_MS}`, ...say.map(line => `say: ${line}`)].join('\n'))
  await tui.see(answerLine(`${name} line 2`))
  return tui
}

interface Entry {
  readonly digit: string
  readonly name: string
  readonly isCurrent: boolean
}

/** Opens the picker, takes the first entry that is `wanted` (and the effort it proposes); gives what was marked as current before. */
async function pickModel(walk: Walk, wanted: (entry: Entry) => boolean): Promise<Entry | undefined> {
  const tui = await walk.tui()
  const mark = walk.mark
  await tui.say('/model')
  const picker = await tui.see(/Select Model and Effort/, /^[ ›]+2\. .*(?:enter|esc)/ms)
  const entries = [...picker.matchAll(/^[ ›]+(\d)\. (\S+)(.*)$/gm)].map(([, digit = '', name = '', rest = '']) => {
    return { digit, name, isCurrent: rest.trim().startsWith('(current)') }
  })
  const entry = entries.find(wanted)
  if (!entry) throw new Error(`the picker does not show the model to pick\n${picker}`)
  await tui.press(entry.digit)
  const changed = new RegExp(`Model changed to \\S*${quoted(entry.name)}(?=\\s)`, 'i')
  const next = await tui.see(new RegExp(`Select Reasoning Level|${changed.source}`, 'i'))
  if (/Select Reasoning Level/.test(next)) await tui.press('Enter')
  await tui.see(changed, COMPOSER)
  await walk.sent(mark, 'thread/settings/update', 'config/batchWrite')
  return entries.find(({ isCurrent }) => isCurrent)
}

/** Starts another thread; the composer of the old one is gone when the screen begins anew. */
async function newThread(walk: Walk): Promise<Pane> {
  const tui = await walk.tui()
  const mark = walk.mark
  await tui.say('/new')
  await walk.sent(mark, 'thread/start')
  await tui.lose(/^\/new$/m, /^› \/new/m)
  await tui.see(COMPOSER)
  return tui
}

/** Leaves a thread with a text, a command with output and a shell escape in it. */
async function leaveHistory(walk: Walk, name: string): Promise<void> {
  const tui = await newThread(walk)
  await walk.turn(`say: words of ${name}`, `words of ${name}`)
  await askFor(walk, `ask-run: echo output-of-${name}-$((6*7))\nsay: end of ${name}`, ASKS_COMMAND)
  await tui.press('y')
  await tui.see(answerLine(`end of ${name}`), new RegExp(`output-of-${name}-42`))
  await walk.rest()
  await tui.say(`!echo own-${name}-$((20+3))`)
  await tui.see(new RegExp(`own-${name}-23$`, 'm'))
  await walk.rest()
}

/** The whole of what `leaveHistory` left is on the screen again, the output of its commands too. */
async function seeHistory(tui: Pane, name: string): Promise<void> {
  await tui.see(answerLine(`words of ${name}`), new RegExp(`^› say: words of ${name}$`, 'm'))
  await tui.see(new RegExp(`Ran echo output-of-${name}`), new RegExp(`output-of-${name}-42$`, 'm'))
  await tui.see(
    answerLine(`end of ${name}`),
    new RegExp(`You ran echo own-${name}`),
    new RegExp(`own-${name}-23$`, 'm'),
  )
}

async function quit(walk: Walk): Promise<void> {
  const tui = await walk.tui()
  await tui.say('/quit')
  const { code, screen } = await tui.ended()
  if (code !== 0) throw new Error(`it ended with ${code}\n${screen}`)
  if (!/codex .*resume [0-9a-f-]{36}/.test(screen)) throw new Error(`it does not say how to come back\n${screen}`)
  await walk.end()
}
