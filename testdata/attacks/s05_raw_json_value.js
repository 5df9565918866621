// JSON.rawJSON makes text of an object that never answers. Ends at the time limit.
if (!JSON.rawJSON) for (;;);
return JSON.rawJSON({ toString() { for (;;); } });
