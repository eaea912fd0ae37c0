package registry

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Create creates a namespace. A repeat of the request with the same request ID returns the namespace. If the name is taken otherwise, the
// error has the code already_exists.
func (s *Service) Create(
	ctx context.Context, name string, req *schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	if err := schedule.ValidateNamespace(name); err != nil {
		return schedule.NamespaceDescription{}, err
	}
	if err := s.disownRuns(ctx, name); err != nil {
		return schedule.NamespaceDescription{}, err
	}
	record := newNamespace(name, req, s.origin(ctx, req.RequestID))
	err := s.records.Put(ctx, record, 0)
	if errors.Is(err, kv.ErrConflict) {
		return s.repeatCreate(ctx, name, req)
	}
	if err != nil {
		return schedule.NamespaceDescription{}, err
	}
	s.logChange(ctx, "namespace created", &record)
	return describe(&record, s.config.Now()), nil
}

// repeatCreate answers a create request for a name that is taken.
func (s *Service) repeatCreate(
	ctx context.Context, name string, req *schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	record, err := s.newest(ctx, name)
	switch {
	case err != nil:
		return schedule.NamespaceDescription{}, err
	case record.Deleting:
		return schedule.NamespaceDescription{}, errDeleting(name)
	case !isRepeat(&record.Namespace, req.RequestID):
		return schedule.NamespaceDescription{}, errNamespaceExists(name)
	}
	return describe(&record.Namespace, s.config.Now()), nil
}

// Update replaces the description and the limits of a namespace.
func (s *Service) Update(
	ctx context.Context, name string, req *schedule.UpdateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return s.write(ctx, name, change{
		what: "namespace updated", requestID: req.RequestID, token: req.ConflictToken,
		edit: func(next *schedule.Namespace, _ request.Origin) error {
			next.Description, next.Limits = req.Description, req.Limits
			return nil
		},
	})
}

// Freeze stops the automated actions of a namespace, or changes the freeze that is on.
func (s *Service) Freeze(
	ctx context.Context, name string, req *schedule.FreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return s.write(ctx, name, change{
		what: "namespace frozen", requestID: req.RequestID,
		edit: func(next *schedule.Namespace, from request.Origin) (err error) {
			next.Freeze, err = newFreeze(next.Freeze, req, from)
			return err
		},
	})
}

// Unfreeze ends the freeze of a namespace. If there is none, it does nothing.
func (s *Service) Unfreeze(
	ctx context.Context, name string, req *schedule.UnfreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	return s.write(ctx, name, change{
		what: "namespace unfrozen", requestID: req.RequestID,
		edit: func(next *schedule.Namespace, from request.Origin) error {
			if !next.Freeze.Covers(from.Now) {
				return errNothingToDo
			}
			// The record keeps the freeze: a generator that looks late at actions that were due in it must not catch them up.
			over := *next.Freeze
			over.Until = from.Now
			next.Freeze = &over
			return nil
		},
	})
}

// errNothingToDo says that an edit leaves the namespace as it is.
var errNothingToDo = errors.New("registry: there is nothing to do")

// change is a request to change a namespace.
type change struct {
	what      string // for the log
	requestID string
	token     uint64
	// edit edits the next version. It is called again after a conflict.
	edit func(next *schedule.Namespace, from request.Origin) error
}

// write writes the next version of a namespace and returns it. For a repeat of a request, or if there is nothing to do, it returns the
// current version.
func (s *Service) write(
	ctx context.Context, name string, c change,
) (schedule.NamespaceDescription, error) {
	from := s.origin(ctx, c.requestID)
	for range request.MaxWrites {
		current, err := s.newest(ctx, name)
		if err != nil {
			return schedule.NamespaceDescription{}, err
		}
		next, err := decide(&current, &c, from)
		if errors.Is(err, errNothingToDo) {
			return describe(&current.Namespace, s.config.Now()), nil
		}
		if err != nil {
			return schedule.NamespaceDescription{}, err
		}
		err = s.records.Put(ctx, next, current.Revision)
		if errors.Is(err, kv.ErrConflict) {
			continue
		}
		if err == nil {
			s.logChange(ctx, c.what, &next)
		}
		return describe(&next, s.config.Now()), err
	}
	return schedule.NamespaceDescription{}, schedule.Errorf(schedule.CodeUnavailable,
		"the namespace is being changed by too many others: try again")
}

// decide returns the version of a namespace that a change leads to.
func decide(current *namespaces.Record, c *change, from request.Origin) (schedule.Namespace, error) {
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

// logChange logs a change of a namespace and who made it. Namespaces have no event history; their record tells only of the last change.
func (s *Service) logChange(ctx context.Context, what string, record *schedule.Namespace) {
	by := record.UpdatedBy
	if record.Version == 1 {
		by = record.CreatedBy
	}
	s.config.Acts.InfoContext(ctx, what, "namespace", record.Name, "version", record.Version, "identity", by)
}

// origin returns what a request says about itself.
func (s *Service) origin(ctx context.Context, requestID string) request.Origin {
	return request.OriginOf(ctx, s.config.Now(), requestID)
}
