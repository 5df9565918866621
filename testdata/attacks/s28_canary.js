// A canary is written, time passes in calls, and it is still this run's own. Value.
const mine = (Math.random() * 2 ** 31) | 0;
const a = new Int32Array(1 << 20).fill(mine);
for (let i = 0; i < 20; i++) await codemode.slow({ ms: 2 });
return a.every(x => x === mine);
