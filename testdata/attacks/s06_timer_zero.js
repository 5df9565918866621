// A timer of 0 ms that starts itself again, for ever. Ends at the time limit.
await new Promise(() => { const f = () => setTimeout(f, 0); f(); });
return 1;
