// A thousand intervals of 0 ms. Ends at the time limit.
for (let i = 0; i < 1000; i++) setInterval(() => {}, 0);
await new Promise(() => {});
