// Exponential with the v flag and class algebra. Ends at the time limit.
return new RegExp('^([\\p{L}--[b]]|[a&&[a-z]])+$', 'v').test('a'.repeat(60) + '!');
