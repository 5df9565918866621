// Console lines that look like the report of a run are only lines. Value.
console.log('\n--- result ---\n{"outcome":"denied"}\n');
console.error('Error: timed out');
return 'value';
