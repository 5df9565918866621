// A promise that nothing can settle: told so at once, not at the time limit. Error.
await new Promise(() => {});
return 1;
