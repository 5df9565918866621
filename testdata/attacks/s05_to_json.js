// toJSON that never returns. Ends at the time limit.
return JSON.stringify({ toJSON() { for (;;); } });
