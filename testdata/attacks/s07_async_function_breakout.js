// A body that closes the body: a syntax error, or code of this guest like any other.
return (async () => {}).constructor('}); globalThis.pwned = 1; (async () => {')();
