package site

import (
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Elsewhere says that the installation of a process is active at another site, so that the process only reads. It does not change.
type Elsewhere struct {
	// Here is the site of the process, which is a standby; Active is the one to ask for everything else.
	Here, Active string
}

// Elsewhere returns where the installation is active, for a standby; nil for a site in any other state.
func (r *Record) Elsewhere() *Elsewhere {
	if r == nil || r.State != Standby {
		return nil
	}
	return &Elsewhere{Here: r.Site, Active: r.Peer}
}

// Refusal is the answer to a request that writes, with CodeFailedPrecondition.
func (e *Elsewhere) Refusal() error {
	return schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is a standby: ask the site %q, which is active", e.Here, e.Active)
}

// NotActive is Refusal as Temporal says it.
func (e *Elsewhere) NotActive(namespace string) error {
	return serviceerror.NewNamespaceNotActive(namespace, e.Here, e.Active)
}
