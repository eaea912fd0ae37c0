package roles

import "github.com/carillon-scheduler/carillon/internal/replica"

// Lanes are what the shards are read by.
func (c *Cluster) Lanes() *replica.Lanes { return c.lanes }
