// The console of the run before: planted here. The next run must not see it.
for (let i = 0; i < 1000; i++) console.log('planted'.repeat(10));
console.log = null;
return 'said';
