// The same tool is the same function or at least does the same; detached it still works. Value.
const { echo } = codemode;
const f = codemode['echo'];
return [await echo(1), await f(2), await (0, codemode.echo)(3)];
