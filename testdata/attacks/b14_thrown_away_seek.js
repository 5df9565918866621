// No failure and no denial of the run before reaches a call of this one. Value.
const r = await Promise.allSettled([codemode.echo('a'), codemode.echo('b'), codemode.slow({ ms: 100 }), codemode.echo('c')]);
return [r.map(x => x.value).join(), typeof late];
