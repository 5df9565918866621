// Promise.race against a promise that never settles, for ever: each round adds a reaction.
// Memory, or another limit.
const never = new Promise(() => {});
for (;;) await Promise.race([never, null]);
