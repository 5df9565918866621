// A tool function belongs to this guest; its constructor reaches no other world. Value.
try {
  const made = codemode.echo.constructor('return globalThis')(); // a promise, if the function is an async one
  return (made instanceof Promise ? await made : made) === globalThis;
} catch (e) { return true; }
