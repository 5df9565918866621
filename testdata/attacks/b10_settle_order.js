// Answers come in the order in which they are ready; each goes to its own call. Value.
const order = [];
await Promise.all([30, 5, 15].map((ms, i) => codemode.slow({ ms }).then(() => order.push(i))));
return order.join();
