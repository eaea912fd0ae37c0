package roles

import (
	"cmp"

	"github.com/carillon-scheduler/carillon/archival"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ArchivalConfig bounds what the role archival does. Zero means the default of package archival.
type ArchivalConfig struct {
	RunsPerSecond, BytesPerSecond float64
	// Allowed are URLs of buckets that namespaces may use, besides the one of the installation.
	Allowed []string
}

// Archival returns the role that archives closed executions.
func (c *Cluster) Archival(config ArchivalConfig) (Role, error) {
	table := c.table()
	service, err := archival.New(archival.Config{
		JS: c.JS, Names: c.Names, Shards: c.Facts.Shards, Replicas: c.Facts.Replicas, Namespaces: table, Logger: c.options.Logger,
		Source: workflows.NewClient(c.owners, c.Names, c.Facts.Shards), Every: c.options.ArchiveEvery, Now: c.options.Now,
		RunsPerSecond: config.RunsPerSecond, BytesPerSecond: config.BytesPerSecond, Allowed: config.Allowed,
	})
	if err != nil {
		return Role{}, err
	}
	known, serves := until(table.Ready(), "the records of the namespaces"), until(service.Ready(), "its requests to be served")
	return c.watched(Role{
		Name: subjects.RoleArchival, Run: informed(table, service.Run),
		Checks: probe.Checks{Waits: func() string { return cmp.Or(known(), serves()) }},
	}), nil
}
