// An interval of a hundredth of a millisecond ticks at most once a millisecond while a call is under way. Value.
let ticks = 0;
const start = Date.now(), id = setInterval(() => { ticks++; }, 0.01);
await codemode.slow({ ms: 60 });
clearInterval(id);
return ticks <= Date.now() - start + 2;
