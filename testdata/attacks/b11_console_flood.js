// Ten megabytes of console lines: bounded, and the value still comes. Value.
for (let i = 0; i < 10000; i++) console.log('x'.repeat(1000), i);
return 'printed';
