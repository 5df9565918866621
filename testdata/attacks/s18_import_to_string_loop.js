// The name of a dynamic import that never becomes text. Ends at the time limit.
return await import({ toString() { for (;;); } });
