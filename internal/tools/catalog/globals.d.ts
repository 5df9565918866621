/** The JSON that came with the program; undefined without any. */
declare var input: any;

declare const codemode: Codemode;

interface Codemode {
  /** Finds tools by what they do, best first. The first ones come with their declaration. */
  search_tools(query: string | { query?: string; limit?: number }): Promise<FoundTool[]>;
  search(query: string | { query?: string; limit?: number }): Promise<FoundTool[]>;
  /** Declares tools in TypeScript: those of these names, those of a server, or all. */
  get_tools(names?: string | string[] | { names?: string[]; server?: string }): Promise<string>;
  /** Reads a resource of a server, such as one that a tool's result links to. A text is in the handle. */
  read_resource(server: string, uri: string): Promise<Handle>;
  read_resource(resource: { server: string; uri: string }): Promise<Handle>;
  /** Puts an image, audio or resource into the answer. Returning its handle does the same. */
  emit(handles: Handle | Handle[]): Promise<undefined>;
  /** Says that nobody awaits a promise: its failure is none of the run. The call is made, and the run waits for it. */
  background(promise: Promise<any>): void;
  /** Keeps an image, audio or resource for later programs, and clients, under the URI that it gives. */
  keep(handle: Handle): Promise<string>;
  /** Reads what an earlier program kept, by its URI, or by the handle that a reply names. */
  load(handle: string, part?: { pointer?: string; from?: number; count?: number; lines?: boolean }): Promise<any>;
  /** Asks the person a question. The answer approves no call. */
  ask_user(question: string | Question): Promise<UserAnswer>;
}

interface FoundTool { name: string; server: string; title?: string; description?: string; declaration?: string }

/** An image, audio or resource that stays on the host. */
interface Handle { $block: string; type: string; [key: string]: any }

interface Question {
  question: string;
  header?: string;
  options?: (string | { label: string; description?: string })[];
  /** More than one option may be chosen. */
  multiple?: boolean;
  /** The person may write an answer of their own. */
  freeText?: boolean;
}

interface UserAnswer {
  action: "accept" | "decline" | "cancel";
  /** The chosen labels and the words, in one text. */
  answer: string;
  selected: string[];
  text: string;
  /** Why nobody answered. */
  reason?: string;
  detail?: string;
}

/** The profile or a person refused the call, so nothing was sent. */
declare class ToolCallDeniedError extends Error {
  toolName: string; reason: string; detail: string; rule?: string; retryable: boolean;
}
/** A budget that all programs share has no room for the call: until in ISO 8601, retryAfter in seconds. */
declare class LimitError extends ToolCallDeniedError {
  budget: string; until: string; retryAfter: number; retryable: true;
}
declare class ToolNotFoundError extends Error { toolName: string; nearest: string[]; reason?: string }
/** The arguments do not match the tool's input schema: path is a JSON Pointer. */
declare class InvalidArgumentsError extends Error { toolName: string; path: string; expected: string; got: string }
/** The result does not match the tool's output schema. The call was made. */
declare class InvalidResultError extends Error { toolName: string; path: string; expected: string; got: string }
/** The tool says that it failed: content is what it answered. */
declare class ToolError extends Error { toolName: string; content: any }
/** The server did not answer: with the outcome unknown, the call may have happened. */
declare class UpstreamError extends Error { toolName: string; server: string; outcome: "unknown" | "not_sent"; reason?: string; detail?: string; retryAfter?: number }
declare class InternalError extends Error {}

interface Console {
  log(...values: any[]): void;
  info(...values: any[]): void;
  warn(...values: any[]): void;
  error(...values: any[]): void;
  debug(...values: any[]): void;
  trace(...values: any[]): void;
  assert(condition?: any, ...values: any[]): void;
  dir(value?: any, options?: any): void;
  dirxml(...values: any[]): void;
  table(rows?: any, columns?: string[]): void;
  group(...label: any[]): void;
  groupCollapsed(...label: any[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: any[]): void;
  timeEnd(label?: string): void;
}
declare var console: Console;

declare function setTimeout(callback: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function setInterval(callback: (...args: any[]) => void, ms?: number, ...args: any[]): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T, options?: { transfer?: any[] }): T;
declare function atob(base64: string): string;
declare function btoa(binary: string): string;

declare var performance: { now(): number; readonly timeOrigin: number };
declare var crypto: {
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
};

declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, into: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(bytes?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}
declare class URLSearchParams {
  constructor(init?: string | Iterable<[string, string]> | { [name: string]: string } | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, self?: any): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
  /** The same text: JSON.stringify would say {}. */
  toJSON(): string;
}

declare class Event {
  constructor(type: string, init?: { bubbles?: boolean; cancelable?: boolean; composed?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly bubbles: boolean;
  readonly cancelable: boolean;
  readonly composed: boolean;
  readonly defaultPrevented: boolean;
  readonly eventPhase: number;
  readonly isTrusted: boolean;
  readonly timeStamp: number;
  composedPath(): EventTarget[];
  preventDefault(): void;
  stopPropagation(): void;
  stopImmediatePropagation(): void;
}
type Listener = ((event: Event) => void) | { handleEvent(event: Event): void } | null;
declare class EventTarget {
  addEventListener(type: string, listener: Listener,
    options?: boolean | { capture?: boolean; once?: boolean; passive?: boolean; signal?: AbortSignal }): void;
  removeEventListener(type: string, listener: Listener, options?: boolean | { capture?: boolean }): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: any): void;
}
declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: any): AbortSignal;
  static timeout(ms: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
}
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
