package callers

// Sweep forgets those who have not been here for a while.
func (c *Callers) Sweep() { c.sweep(c.config.Now()) }

// WithoutUser is the URL of a server without its user.
func WithoutUser(server string) string { return withoutUser(server) }
