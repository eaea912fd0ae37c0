package roles

import "github.com/carillon-scheduler/carillon/internal/bus"

// Lanes are what the shards are read by.
func (c *Cluster) Lanes() *bus.Lanes { return c.lanes }
