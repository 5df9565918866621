// From the apply trap of a proxy around an allowed tool. Denied.
return await new Proxy(codemode.echo, { apply: (t, th, a) => codemode.secret(...a) })({});
