package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// archiverSilent is for how long the process that archives may say nothing.
	archiverSilent = 2 * time.Minute
	// archiveFailed is for how long a namespace may not be archived before that counts as failed. At once, it is a warning.
	archiveFailed = time.Hour
)

// Archive is what is known about archives.
type Archive struct {
	// Namespaces ask for an archive, in order.
	Namespaces []string `json:"namespaces"`
	// Unreadable are the namespaces whose records cannot be read: perhaps they ask for an archive.
	Unreadable []string `json:"unreadable,omitempty"`
	// Status is what the process that archives last said.
	Status progress.Status `json:"status,omitzero"`
}

// archive finds out which of some namespaces ask for an archive, and how that gets on.
func (g *gatherer) archive(ctx context.Context, cluster *kv.Cluster, names []string) {
	records, err := namespaces.NewRecords(cluster).Read(ctx, names)
	if err != nil {
		g.problem("namespaces", err)
		return
	}
	of := &Archive{}
	for i := range records {
		of.note(records[i].Name, records[i].Limits.Archive != "", records[i].Unreadable)
	}
	if len(of.Namespaces) == 0 && len(of.Unreadable) == 0 {
		return
	}
	record, err := kv.GetJSON[progress.Status](ctx, cluster, subjects.KeyArchiver)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		g.problem("archive", err)
		return
	}
	of.Status = record.Value
	g.facts.Archive = of
}

// note notes what is known of a namespace.
func (a *Archive) note(name string, asks, unreadable bool) {
	switch {
	case unreadable:
		a.Unreadable = append(a.Unreadable, name)
	case asks:
		a.Namespaces = append(a.Namespaces, name)
	}
	slices.Sort(a.Namespaces)
	slices.Sort(a.Unreadable)
}

// checkArchive judges the archives of an installation whose namespaces ask for some.
func checkArchive(f *Facts) Check {
	const name = "archive"
	of, now := f.Archive, f.Time.Add(f.NATS.Skew)
	if len(of.Unreadable) > 0 {
		return notOK(name, Failed, fmt.Sprintf("the records of some namespaces cannot be read, and their workflows that have ended are kept: %s",
			listed(of.Unreadable)), fmt.Sprintf("write them again, for example from a backup: the key %s of the bucket with the namespaces", subjects.NamespaceKey("NAME")))
	}
	asking := counted(len(of.Namespaces), "namespace")
	if of.Status.Process == "" || now.Sub(of.Status.At) > archiverSilent {
		return notOK(name, Failed, fmt.Sprintf("no process archives, and workflows of %s are kept until one does: %s", asking, listed(of.Namespaces)),
			"start carillon server or carillon archival")
	}
	if len(of.Status.Waiting) > 0 {
		status, all := Warning, []string{}
		for _, w := range of.Status.Waiting {
			if now.Sub(w.Since) >= archiveFailed {
				status = Failed
			}
			all = append(all, fmt.Sprintf("%s for %s: %s", w.Namespace, ageText(now, w.Since), w.Reason))
		}
		return notOK(name, status, "workflows that have ended are kept, because they cannot be archived: "+strings.Join(all, "; "),
			"see whether the processes that archive reach the bucket, may write to it, and have room there")
	}
	if of.Status.Left > 0 {
		return notOK(name, Warning, fmt.Sprintf("%s could not be read and archived, and others are: %s",
			counted(of.Status.Left, "workflow"), keptText(of.Status.Kept)), "see the reasons; if a journal is damaged, restore a backup, or give the workflow up: docs/runbooks/CarillonArchiveLate.md")
	}
	return ok(name, "of %s", asking)
}

// keptText names runs that could not be archived.
func keptText(kept []progress.Kept) string {
	all := make([]string, len(kept))
	for i := range kept {
		all[i] = fmt.Sprintf("%s/%s (run %s): %s", kept[i].Namespace, kept[i].WorkflowID, kept[i].RunID, kept[i].Reason)
	}
	return strings.Join(all, "; ")
}
