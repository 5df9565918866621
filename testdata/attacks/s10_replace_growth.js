// replaceAll with a longer text.
// Ends at the time limit, or by another limit before.
return 'x'.repeat(1e5).replaceAll('x', 'y'.repeat(1e4)).length;
