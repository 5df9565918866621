// A loop made with the Function constructor. Ends at the time limit, or code from text is refused.
Function('for (;;);')();
