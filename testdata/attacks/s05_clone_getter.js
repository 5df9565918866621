// structuredClone reads a getter that never returns. Ends at the time limit.
return structuredClone({ get x() { for (;;); } });
