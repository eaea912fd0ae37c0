package roles

import (
	"cmp"

	"github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/subjects"
)

// History returns the role that owns workflow executions.
func (c *Cluster) History() (Role, error) {
	table, vitals := c.table(), &loop.Vitals{}
	service, err := history.New(history.Config{
		JS: c.JS, Owners: c.owners, Names: c.Names, Shards: c.Facts.Shards, Namespaces: table, Logger: c.options.Logger, Vitals: vitals,
		Now: c.options.Now, SweepEvery: c.options.SweepEvery, Elsewhere: c.options.Elsewhere,
	})
	if err != nil {
		return Role{}, err
	}
	checks := poolChecks(table, vitals)
	if c.options.Elsewhere != nil { // no loop waits for deadlines
		checks = probe.Checks{Waits: until(table.Ready(), "the records of the namespaces")}
	}
	waits, serves := checks.Waits, until(service.Ready(), "its requests to be served")
	checks.Waits = func() string { return cmp.Or(waits(), serves()) }
	return c.watched(Role{Name: subjects.PoolHistory, Run: informed(table, service.Run), Checks: checks}), nil
}
