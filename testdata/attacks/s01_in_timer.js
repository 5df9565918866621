// The loop runs in a timer callback while the program waits for it. Ends at the time limit.
return await new Promise(() => setTimeout(() => { for (;;); }, 0));
