// Through a proxy around the tool. Denied.
return await new Proxy(codemode.secret, {})({});
