// The thrown value loops when anybody makes text of it, also the host. Ends at the time limit.
throw { get name() { for (;;); }, get message() { for (;;); }, toString() { for (;;); } };
