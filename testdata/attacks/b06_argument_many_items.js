// A million items: carried or refused, in bounded time. Value.
try { await codemode.echo(new Array(1e6).fill(0)); } catch (e) { }
return await codemode.echo('next');
