package roles

import "github.com/carillon-scheduler/carillon/internal/bus"

// Lanes returns the lanes that read the shards.
func (c *Cluster) Lanes() *bus.Lanes { return c.lanes }

// ErrNoMirrors is why the roles of a standby wait.
var ErrNoMirrors = errNoMirrors
