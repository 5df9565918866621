package bench

// Program is the source of the case.
func (c *Case) Program() string { return c.source }

// Before are the cases that have to run directly before this one, in the same process, first to last.
func (c *Case) Before() []*Case { return c.before }
