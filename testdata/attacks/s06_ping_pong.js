// Two async functions wake each other for ever. Ends at the time limit.
let wake = () => {};
const sleep = () => new Promise(r => { const w = wake; wake = r; w(); });
(async () => { for (;;) await sleep(); })();
for (;;) await sleep();
