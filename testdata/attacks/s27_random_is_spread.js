// A thousand draws fill all ten bins: the generator was not left in the zero state. Value.
const bins = new Array(10).fill(0);
for (let i = 0; i < 1000; i++) bins[Math.floor(Math.random() * 10)]++;
return bins.every(b => b > 40 && b < 200);
