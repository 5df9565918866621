// toString that never returns, called by a template. Ends at the time limit.
return `${{ toString() { for (;;); } }}`;
