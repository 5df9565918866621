// Tests that each driver of engines.json speaks the isolation protocol and sets its engine up as it claims:
//
//	node --test drivers.test.mjs
//	DRIVERS='^quickjs' node --test drivers.test.mjs
//
// DRIVERS is a pattern for the names. How safe an engine is, the attack suite tells.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test, before, after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const here = import.meta.dirname;
const engines = JSON.parse(readFileSync(join(here, 'engines.json'), 'utf8'));
const wall = 1000; // ms
const busy = 3000; // ms that a driver may be late here: how late an engine is, the attack suite tells

// An engine that fails to free what such a program held aborts, whatever its driver does.
const aborts = { '@sebastianwessel/quickjs': 'it aborts when it ends a program after a call or an await' };

// A row is a test: the program in each language that can say it, the claims that it needs, and its outcome. calls is
// how many calls are under way at once. except says why an engine does not do it, whatever its driver does.
const rows = [
  { name: 'a value', javascript: 'return 1 + 1', python: 'return 1 + 1', value: 2 },
  { name: 'no value', javascript: 'const n = 1', python: 'n = 1', value: null },
  { name: 'a text', javascript: 'return "é\\n\\u2028"', python: 'return "é\\n\\u2028"', value: 'é\n\u2028' },
  {
    name: 'a call that succeeds',
    needs: ['calls'],
    javascript: 'return await codemode.echo({ a: [1, "x", null] })',
    python: 'return await codemode.echo({"a": [1, "x", None]})',
    value: { a: [1, 'x', null] },
  },
  {
    name: 'a call without an argument',
    needs: ['calls'],
    javascript: 'return (await codemode.echo()) ?? {}',
    python: 'return await codemode.echo() or {}',
    value: {},
  },
  {
    name: 'a call that fails',
    needs: ['calls'],
    javascript: 'try { await codemode.fail() } catch (e) { return e instanceof Error && e.message }',
    python: 'try:\n    await codemode.fail()\nexcept Exception as e:\n    return str(e)',
    value: /it failed, as it always does/,
  },
  {
    name: 'a call that is denied',
    needs: ['calls'],
    javascript: 'return await codemode.secret()',
    python: 'return await codemode.secret()',
    outcome: /^(denied|error)$/,
  },
  {
    name: 'a denial that a program makes up',
    needs: ['calls'],
    javascript: 'Object.prototype.error = { code: "denied", message: "no" }; return await codemode.echo("x")',
    outcome: /^(value|error)$/,
  },
  {
    name: 'a call that takes its time',
    needs: ['calls'],
    javascript: 'return await codemode.slow({ ms: 300 })',
    python: 'return await codemode.slow({"ms": 300})',
    value: 'done',
    least: 300,
  },
  {
    name: 'several calls at once',
    needs: ['calls', 'parallel'],
    javascript: 'return await Promise.all([1, 2, 3].map(() => codemode.slow({ ms: 300 })))',
    python: 'import asyncio\nreturn list(await asyncio.gather(*[codemode.slow({"ms": 300}) for i in [1, 2, 3]]))',
    value: ['done', 'done', 'done'],
    calls: 3,
  },
  {
    name: 'an error',
    javascript: 'throw new TypeError("on purpose")',
    python: 'raise ValueError("on purpose")',
    outcome: /^error$/,
    message: /on purpose/,
  },
  {
    name: 'an error without a message',
    javascript: 'throw { get message() { throw this } }',
    outcome: /^error$/,
  },
  { name: 'no program', javascript: '} return 1; {', python: 'return (', outcome: /^error$/ },
  {
    name: 'an endless loop',
    needs: ['time'],
    javascript: 'for (;;);',
    python: 'while True:\n    pass',
    outcome: /^timeout$/,
  },
  {
    name: 'an endless loop after a call',
    needs: ['calls', 'time'],
    javascript: 'await codemode.echo(1); for (;;);',
    python: 'await codemode.echo(1)\nwhile True:\n    pass',
    outcome: /^timeout$/,
    except: aborts,
  },
  {
    name: 'endless small steps',
    needs: ['time'],
    javascript: 'for (;;) await null',
    outcome: /^timeout$/,
    except: aborts,
  },
  {
    name: 'an endless wait',
    needs: ['calls', 'time'],
    javascript: 'await codemode.slow({ ms: 60_000 })',
    python: 'await codemode.slow({"ms": 60000})',
    outcome: /^timeout$/,
  },
  {
    name: 'an answer that comes after the end',
    needs: ['calls', 'parallel'],
    javascript: 'codemode.slow({ ms: 200 }).then(() => codemode.echo("late")); return 1',
    value: 1,
    pause: 400,
  },
  {
    name: 'too much memory',
    needs: ['memory'],
    javascript: 'return new Uint8Array(512 << 20).fill(1).length',
    python: 'return len("x" * (512 << 20))',
    outcome: /^(memory|error)$/,
  },
  {
    name: 'an error that says out of memory',
    javascript: 'throw new (globalThis.InternalError ?? Error)("out of memory")',
    python: 'raise MemoryError("memory limit")',
    outcome: /^error$/,
  },
  { name: 'a global that stays', javascript: 'try { globalThis.x = 1; Array.prototype.x = 1 } catch {} return 1', value: 1 },
  {
    name: 'a global that is gone',
    javascript: 'return [typeof x, [].x === undefined]',
    value: ['undefined', true],
  },
];

for (const [name, command] of Object.entries(engines)) {
  if (!name.match(process.env.DRIVERS ?? '')) continue;
  const file = command[0].includes('/') ? join(here, command[0]) : command[0];
  const missing = command[0].includes('/') && !existsSync(file) && `there is no ${command[0]}: make engines builds it`;
  describe(name, { skip: missing, timeout: 180_000 }, () => {
    let driver;
    before(async () => (driver = await start(file, command.slice(1))));
    after(() => driver?.stop());
    test(`${name}: hello`, () => {
      const { protocol, version, language, claims, note } = driver.hello;
      assert.equal(protocol, 1);
      assert.match(version, /./);
      assert.match(language, /^(javascript|python)$/);
      assert.ok(Array.isArray(claims));
      assert.equal(new URL(note).protocol, 'https:');
    });
    for (const row of rows)
      test(`${name}: ${row.name}`, async (t) => {
        const { language, claims } = driver.hello;
        const lacks = (row.needs ?? []).filter((claim) => !claims.includes(claim));
        if (row.except?.[name]) return t.skip(row.except[name]);
        if (lacks.length > 0) return t.skip(`it does not claim ${lacks}`);
        if (!row[language]) return t.skip(`there is no such program in ${language}`);
        const end = await driver.run(row[language]);
        assert.match(end.outcome, row.outcome ?? /^value$/, end.message);
        if (row.value instanceof RegExp) assert.match(end.value, row.value);
        else if ('value' in row) assert.deepEqual(end.value, row.value);
        if (row.message) assert.match(end.message, row.message);
        if (row.calls) assert.equal(end.most, row.calls);
        if (claims.includes('time')) assert.ok(end.took < wall + busy, `it ended after ${end.took} ms`);
        assert.ok(end.took >= (end.outcome === 'timeout' ? wall : (row.least ?? 0)), `it ended after ${end.took} ms`);
        await sleep(row.pause ?? 0);
        // The driver goes on with the next program, and nothing of the last one arrives.
        assert.deepEqual((await driver.run('return 3')).value, 3);
      });
  });
}

// start starts a driver and is the harness that it speaks with.
async function start(file, args) {
  const home = mkdtempSync(join(tmpdir(), 'driver-'));
  const child = spawn(file, args, {
    cwd: here,
    env: { PATH: process.env.PATH, HOME: home, TMPDIR: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const send = (message) => child.stdin.write(JSON.stringify(message) + '\n');
  child.stdin.on('error', () => {}); // the end of the output says that it ended
  const gone = new Promise((resolve) => child.on('exit', resolve).on('error', resolve));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the driver ended: ${await gone}`);
    return JSON.parse(value);
  };
  const tools = {
    echo: (args) => ({ value: args }),
    slow: async ({ ms }) => (await sleep(ms, null, { ref: false }), { value: 'done' }),
    fail: () => ({ error: { code: 'failed', message: 'it failed, as it always does' } }),
    secret: () => ({ error: { code: 'denied', message: 'the policy denies secret' } }),
  };
  let run = 0;
  const driver = {
    hello: await next(),
    // run runs one program: its outcome, how long it took and the most calls that were open at once.
    async run(program) {
      const limits = {
        wall_ms: wall, cpu_ms: wall, memory_bytes: 64 << 20, calls: 2000, in_flight: 16, argument_bytes: 8 << 20,
        result_bytes: 1 << 20,
      };
      const allow = ['echo', 'slow', 'fail'];
      const from = performance.now();
      let open = 0;
      let most = 0;
      send({ type: 'run', run: ++run, name: 'test', program, allow, limits });
      for (;;) {
        const message = await next();
        assert.equal(message.run, run, `of another run: ${JSON.stringify(message)}`);
        if (message.type === 'outcome') return { ...message, took: Math.ceil(performance.now() - from), most };
        most = Math.max(most, ++open);
        const of = { type: 'answer', run, call: message.call };
        Promise.resolve(tools[message.name](message.args)).then((answer) => {
          open--;
          send({ ...of, ...answer });
        });
      }
    },
    async stop() {
      child.stdin.end();
      const stuck = setTimeout(() => child.kill('SIGKILL'), 5000);
      await gone;
      clearTimeout(stuck);
      rmSync(home, { recursive: true });
    },
  };
  return driver;
}
