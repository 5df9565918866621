// The loop starts after an await, in a job of its own. Ends at the time limit.
await null;
for (;;);
