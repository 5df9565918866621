// Timers of fractions of a millisecond must not fire in the order of the fractions: that would be a finer clock. Value.
const order = [];
await Promise.all([0.9, 0.1, 0.5].map(ms => new Promise(r => setTimeout(() => { order.push(ms); r(); }, ms))));
return order;
