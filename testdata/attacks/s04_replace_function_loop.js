// The replace callback loops. Ends at the time limit.
return 'abc'.replace(/b/, () => { for (;;); });
