// A loop inside direct eval. Ends at the time limit, or code from text is refused.
eval('for (;;);');
