// A static block that never ends. Ends at the time limit.
class A { static { for (;;); } }
return 1;
