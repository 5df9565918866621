// A denied call among allowed ones refuses only itself. Value.
const r = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => i === 25 ? codemode.secret({}) : codemode.echo(i)));
return [r.filter(x => x.status === 'fulfilled').length, r[25].status];
