// The stack of the last error is asked by the engine: the hook loops, throws and calls a tool then. Error, or it is stopped.
try {
  let n = 0;
  Error.prepareStackTrace = () => { if (n++ > 3) for (;;); codemode.secret().catch(() => {}); throw new Error('hook'); };
} catch (e) { }
throw new Error('last');
