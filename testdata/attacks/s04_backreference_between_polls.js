// Each step compares megabytes with a backreference, and the engine asks only every 10,000 steps.
// The outer stop ends it.
return /^(a*?)\1b/.test('a'.repeat(8e6));
