import { encodeChat } from './chat-request.ts'
import { ChatDecoder } from './chat-stream.ts'
import type { Wire } from './wire.ts'

/** OpenAI's Chat Completions API, as OpenRouter, DeepSeek, Ollama, llama.cpp, vLLM, LM Studio and others speak it. */
export const chat: Wire = {
  path: '/chat/completions',
  encode: encodeChat,
  decoder: (request, target, emit) => new ChatDecoder(request, target, emit),
}
