// A runaway that prints. Ends by time; what it prints is bounded.
for (;;) console.log('x'.repeat(1000));
