package frontend

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *api) createNamespace(
	ctx context.Context, name string, req *schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	if err := schedule.ValidateNamespace(name); err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if err := a.disownRuns(ctx, name); err != nil {
		return schedule.NamespaceDescription{}, err
	}
	record := newNamespace(name, req, a.origin(ctx, req.RequestID))
	err := a.namespaces.records.Put(ctx, record, 0)
	if errors.Is(err, kv.ErrConflict) {
		return a.repeatCreateNamespace(ctx, name, req)
	}
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	a.logNamespace(ctx, "namespace created", &record)
	return describeNamespace(&record, a.now()), nil
}

// repeatCreateNamespace answers a create request for a name that is taken.
func (a *api) repeatCreateNamespace(
	ctx context.Context, name string, req *schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	record, err := a.namespaces.newest(ctx, name)
	switch {
	case err != nil:
		return schedule.NamespaceDescription{}, err
	case record.Deleting:
		return schedule.NamespaceDescription{}, errDeleting(name)
	case !isRepeat(&record.Namespace, req.RequestID):
		return schedule.NamespaceDescription{}, errNamespaceExists(name)
	}
	return describeNamespace(&record.Namespace, a.now()), nil
}

func (a *api) updateNamespace(
	ctx context.Context, name string, req *schedule.UpdateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return a.changeNamespace(ctx, name, namespaceChange{
		what: "namespace updated", requestID: req.RequestID, token: req.ConflictToken,
		edit: func(next *schedule.Namespace, _ request.Origin) error {
			next.Description, next.Limits = req.Description, req.Limits
			return nil
		},
	})
}

func (a *api) freezeNamespace(
	ctx context.Context, name string, req *schedule.FreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return a.changeNamespace(ctx, name, namespaceChange{
		what: "namespace frozen", requestID: req.RequestID,
		edit: func(next *schedule.Namespace, from request.Origin) (err error) {
			next.Freeze, err = newFreeze(next.Freeze, req, from)
			return err
		},
	})
}

func (a *api) unfreezeNamespace(
	ctx context.Context, name string, req *schedule.UnfreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return a.changeNamespace(ctx, name, namespaceChange{
		what: "namespace unfrozen", requestID: req.RequestID,
		edit: func(next *schedule.Namespace, from request.Origin) error {
			if !next.Freeze.Covers(from.Now) {
				return errNothingToDo
			}
			// It is kept: who looks late at what was due in it must not catch it up.
			over := *next.Freeze
			over.Until = from.Now
			next.Freeze = &over
			return nil
		},
	})
}

// errNothingToDo is what an edit returns that leaves the namespace as it is.
var errNothingToDo = errors.New("frontend: there is nothing to do")

// namespaceChange is a request to change a namespace.
type namespaceChange struct {
	// what is for the log.
	what      string
	requestID string
	token     uint64
	// edit decides. It is called again after a conflict.
	edit func(next *schedule.Namespace, from request.Origin) error
}

// changeNamespace writes the next version of a namespace, and returns it. For a repeat of a request, and where there is nothing
// to do, that is the namespace as it is.
func (a *api) changeNamespace(
	ctx context.Context, name string, c namespaceChange,
) (schedule.NamespaceDescription, error) {
	from := a.origin(ctx, c.requestID)
	for range maxWrites {
		current, err := a.namespaces.newest(ctx, name)
		if err != nil {
			return schedule.NamespaceDescription{}, err
		}
		next, err := decideNamespace(&current, &c, from)
		if errors.Is(err, errNothingToDo) {
			return describeNamespace(&current.Namespace, a.now()), nil
		}
		if err != nil {
			return schedule.NamespaceDescription{}, err
		}
		err = a.namespaces.records.Put(ctx, next, current.Revision)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err == nil {
			a.logNamespace(ctx, c.what, &next)
		}
		return describeNamespace(&next, a.now()), err
	}
	return schedule.NamespaceDescription{}, schedule.Errorf(schedule.CodeUnavailable,
		"the namespace is being changed by too many others: try again")
}

// decideNamespace returns the version of a namespace that a change leads to.
func decideNamespace(current *namespaces.Record, c *namespaceChange, from request.Origin) (schedule.Namespace, error) {
	if isRepeat(&current.Namespace, c.requestID) {
		return schedule.Namespace{}, errNothingToDo
	}
	if current.Deleting {
		return schedule.Namespace{}, errDeleting(current.Name)
	}
	if err := request.CheckToken("namespace", current.Version, c.token); err != nil {
		return schedule.Namespace{}, err
	}
	next := nextNamespace(current.Namespace, from)
	return next, c.edit(&next, from)
}

// logNamespace logs what was done to a namespace and who did it. There is no history of namespaces: their record tells of the
// last change alone.
func (a *api) logNamespace(ctx context.Context, what string, record *schedule.Namespace) {
	by := record.UpdatedBy
	if record.Version == 1 {
		by = record.CreatedBy
	}
	a.acts.InfoContext(ctx, what, "namespace", record.Name, "version", record.Version, "identity", by)
}
