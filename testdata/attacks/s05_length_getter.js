// A length that never comes. Ends at the time limit.
return Array.prototype.slice.call({ get length() { for (;;); } });
