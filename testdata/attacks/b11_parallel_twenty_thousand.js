// Twenty thousand calls at once are over the quota: each is refused or the run ends.
await Promise.all(Array.from({ length: 20000 }, (_, i) => codemode.echo(i)));
return 1;
