import { realDisk } from '../../../src/engine/store/disk.ts'
import { Lock } from '../../../src/engine/store/lock.ts'
import { realMachine } from '../../../src/engine/store/machine.ts'

/**
 * A process that races others for one log, told by messages: `take` answers whether it got the lock, `held` whether it
 * still has it, `release` gives it back.
 */
const path = process.argv[2] ?? ''
let lock: Lock | null = null

process.on('message', (what: 'take' | 'held' | 'release') => {
  if (what === 'take') lock = take()
  if (what === 'release') lock?.release()
  const answer = what === 'release' || (what === 'held' ? (lock?.held ?? false) : lock !== null)
  process.send?.(answer)
})
process.on('disconnect', () => process.exit(0))
process.send?.('ready')

function take(): Lock | null {
  try {
    return Lock.take({ disk: realDisk, machine: realMachine, path, id: 'raced' })
  } catch (error) {
    if (error instanceof Error && error.message.includes('active writer')) return null
    throw error
  }
}
