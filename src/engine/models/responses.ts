import { encodeResponses } from './responses-request.ts'
import { ResponsesDecoder } from './responses-stream.ts'
import type { Wire } from './wire.ts'

/** OpenAI's Responses API and what speaks it. */
export const responses: Wire = {
  path: '/responses',
  encode: encodeResponses,
  decoder: (request, target, emit) => new ResponsesDecoder(request, target, emit),
}
