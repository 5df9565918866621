// null, false, zero, the empty text and empty containers come back as they are. Value.
return await Promise.all([null, false, 0, '', [], {}].map(x => codemode.echo(x)));
