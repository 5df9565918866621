// The isolation protocol (docs/isolation-protocol.md), version 1, for drivers that run in Node.
import { createInterface } from 'node:readline';

// serve says hello and runs programs until the input ends. run gets {name, program, allow, limits, call} and returns an
// outcome: {outcome, value, message, usage}, where value is JSON text. call(name, args) takes JSON text and returns a
// promise of JSON text. It throws a Refused if the harness answers with an error, or if the run has ended.
export function serve(hello, run) {
  say({ type: 'hello', protocol: 1, language: 'javascript', ...hello });
  let current = null;
  const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
  lines.on('line', async (line) => {
    const message = JSON.parse(line);
    if (message.type === 'answer') {
      current?.answer(message);
    } else if (message.type === 'run') {
      const state = (current = calls(message.run));
      let end;
      try {
        end = await run({ ...message, call: state.call });
      } catch (error) {
        end = { outcome: 'error', message: String(error?.message ?? error) };
      }
      if (current === state) current = null;
      state.end();
      const { value, ...rest } = end;
      try {
        say({ type: 'outcome', run: message.run, ...rest }, end.outcome === 'value' ? { value: value ?? 'null' } : {});
      } catch (error) {
        say({ type: 'outcome', run: message.run, outcome: 'error', message: error.message });
      }
    }
  });
  lines.on('close', () => process.exit(0));
}

// Refused is the error of a call that the harness refused; code is denied, failed or unknown.
export class Refused extends Error {
  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

// calls are the calls of one run.
function calls(run) {
  const open = new Map();
  let last = 0;
  let ended = false;
  return {
    call: (name, args) =>
      new Promise((resolve, reject) => {
        if (ended) throw new Refused({ code: 'failed', message: 'the run has ended' });
        say({ type: 'call', run, call: ++last, name }, { args });
        open.set(last, { resolve, reject });
      }),
    end: () => (ended = true),
    answer: ({ run: of, call, value, error }) => {
      const { resolve, reject } = (of === run && open.get(call)) || {};
      open.delete(call);
      if (error) reject?.(new Refused(error));
      else resolve?.(JSON.stringify(value ?? null));
    },
  };
}

// say writes one message; the fields of texts are JSON text. It throws if they are not, as a program may have made them.
function say(message, texts = {}) {
  let line = JSON.stringify(message).slice(0, -1);
  for (const [key, text] of Object.entries(texts)) {
    JSON.parse(text);
    line += `,${JSON.stringify(key)}:${text.replace(/[\n\r]/g, ' ')}`;
  }
  process.stdout.write(line + '}\n');
}
