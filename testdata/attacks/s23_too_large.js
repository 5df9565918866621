// A result of twenty megabytes is over the limit. Refused.
return 'x'.repeat(20e6);
