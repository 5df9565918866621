(send, done, program) => {
  const { stringify, parse } = JSON;
  const { apply } = Reflect;
  const { add, has } = WeakSet.prototype;
  const AsyncFunction = (async () => {}).constructor;
  const denied = new WeakSet();
  const open = Object.create(null);
  const tool = (name) => async (...args) => {
    const text = args.length === 0 ? '{}' : stringify(args[0]);
    const call = send(name, text === undefined ? 'null' : text);
    const answer = parse(await new Promise((resolve) => { open[call] = resolve; }));
    if (answer.error) {
      const error = new Error(answer.error.message);
      if (answer.error.code === 'denied') apply(add, denied, [error]);
      throw error;
    }
    return answer.value;
  };
  globalThis.codemode = { echo: tool('echo'), slow: tool('slow'), fail: tool('fail'), secret: tool('secret') };
  const run = async () => {
    try {
      const value = stringify(await new AsyncFunction(program)());
      done('{"outcome":"value","value":' + (value === undefined ? 'null' : value) + '}');
    } catch (error) {
      const isDenied = typeof error === 'object' && error !== null && apply(has, denied, [error]);
      let message = 'an error without a text';
      try { message = String(error?.message ?? error); } catch {}
      done('{"outcome":"' + (isDenied ? 'denied' : 'error') + '","message":' + stringify(message) + '}');
    }
  };
  run();
  return (call, answer) => {
    open[call](answer);
    delete open[call];
  };
}
