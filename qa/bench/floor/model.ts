import { Agent, request } from 'node:http'

/** What the floor reads of a stream event. */
export interface ModelEvent {
  readonly type: string
  readonly delta?: string
  readonly item?: ModelItem
}

export interface ModelItem {
  readonly type: string
  readonly id: string
  readonly call_id?: string
  readonly arguments?: string
}

export interface Ask {
  readonly base: URL
  readonly input: readonly unknown[]
  onEvent(event: ModelEvent): void
  /** Null while all clients keep up, else when they have caught up: until then the model is not read. */
  pause(): Promise<void> | null
}

const agent = new Agent({ keepAlive: true, maxSockets: 512 })
const TOOLS = [{ type: 'function', name: 'exec_command' }]

/** One request to the model over a kept connection; resolves at the end of its stream. */
export function ask({ base, input, onEvent, pause }: Ask): Promise<void> {
  const body = JSON.stringify({ model: 'mock', stream: true, tools: TOOLS, input })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const call = request(`${base.href}/responses`, { method: 'POST', agent, headers }, response => {
      const take = events(onEvent)
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        take(text)
        const wait = pause()
        if (!wait) return
        response.pause()
        void wait.then(() => response.resume())
      })
      response.on('end', resolve).on('error', reject)
    })
    call.on('error', reject)
    call.end(body)
  })
}

/** Cuts a stream into its events; trusts the mock to write one `data:` line in each. */
function events(onEvent: (event: ModelEvent) => void): (text: string) => void {
  let rest = ''
  return text => {
    const all = rest + text
    let from = 0
    for (let end = all.indexOf('\n\n'); end >= 0; end = all.indexOf('\n\n', from)) {
      const data = all.indexOf('data: ', from)
      if (data >= 0 && data < end) onEvent(JSON.parse(all.slice(data + 6, end)) as ModelEvent)
      from = end + 2
    }
    rest = all.slice(from)
  }
}
