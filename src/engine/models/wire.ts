import type { ModelEvent, ModelFailure, ModelInfo, ModelRequest } from './model.ts'
import type { ProviderConfig } from './provider.ts'

/** Which model a wire is to talk to, and how. */
export interface Target {
  readonly info: ModelInfo
  readonly provider: ProviderConfig
  /** How wordy answers should be (`low`, `medium`, `high`); null leaves it to the model. */
  readonly verbosity: string | null
  /** Reasoning summary when a request asks for none in particular. */
  readonly summary: string | null
}

/** One provider protocol: turns a request into a body, and the stream's events into ours. */
export interface Wire {
  /** Path below the provider's base URL. */
  readonly path: string
  encode(request: ModelRequest, target: Target): object
  decoder(request: ModelRequest, target: Target, emit: (event: ModelEvent) => void): Decoder
}

/** Reads one response. Events of an unknown kind and broken ones are skipped: content must not die of a stray frame. */
export interface Decoder {
  /** The data of one event. */
  data(text: string): void
  /** The stream ended, cleanly when `failure` is null. Emits the last event if it was not emitted yet. */
  end(failure: ModelFailure | null): void
}
