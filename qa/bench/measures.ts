import { conns } from './measures/conns.ts'
import { crash } from './measures/crash.ts'
import { exec } from './measures/exec.ts'
import { fanout } from './measures/fanout.ts'
import { list } from './measures/list.ts'
import { long } from './measures/long.ts'
import { memory } from './measures/memory.ts'
import { slow } from './measures/slow.ts'
import { startup } from './measures/startup.ts'
import { stream } from './measures/stream.ts'
import { ttfd } from './measures/ttfd.ts'
import { turns } from './measures/turns.ts'
import type { Measure } from './stage.ts'

/** All measures, in the order of a run: the ones that matter most come first. */
export const MEASURES: readonly Measure[] = [
  startup,
  memory,
  turns,
  stream,
  fanout,
  ttfd,
  exec,
  list,
  long,
  crash,
  slow,
  conns,
]
