package registry

import (
	"cmp"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/schedule"
)

// newNamespace returns the namespace that a create request writes.
func newNamespace(name string, req *schedule.CreateNamespaceRequest, from request.Origin) schedule.Namespace {
	return schedule.Namespace{
		Name: name, Description: req.Description, Limits: req.Limits, Version: 1,
		CreateTime: from.Now, CreatedBy: from.Identity, RequestID: req.RequestID,
	}
}

// nextNamespace returns the next version of a namespace, for a change to edit.
func nextNamespace(current schedule.Namespace, from request.Origin) schedule.Namespace {
	current.Version++
	current.UpdateTime, current.UpdatedBy, current.RequestID = from.Now, from.Identity, from.RequestID
	return current
}

// isRepeat reports whether a request is the one that wrote the current version of the namespace.
func isRepeat(current *schedule.Namespace, requestID string) bool {
	return requestID != "" && requestID == current.RequestID
}

// newFreeze returns the freeze that a request asks for. If the namespace is frozen already, the freeze keeps its beginning.
func newFreeze(current *schedule.Freeze, req *schedule.FreezeNamespaceRequest, from request.Origin) (*schedule.Freeze, error) {
	freeze := &schedule.Freeze{Reason: req.Reason, By: from.Identity, From: from.Now, Until: req.Until.UTC()}
	if req.For > 0 {
		freeze.Until = from.Now.Add(req.For.Std())
	}
	if !freeze.Until.IsZero() && !freeze.Until.After(from.Now) {
		return nil, schedule.Invalid("until",
			"%s is past: use a time to come, or leave it out", freeze.Until.Format(time.RFC3339))
	}
	if current.Covers(from.Now) {
		freeze.From = current.From
	}
	return freeze, nil
}

// describe describes a namespace. It leaves out a freeze that is over.
func describe(record *schedule.Namespace, now time.Time) schedule.NamespaceDescription {
	d := schedule.NamespaceDescription{
		Name: record.Name, Description: record.Description, Limits: record.Limits, Deleting: record.Deleting,
		ConflictToken: record.Version,
		Info: schedule.NamespaceInfo{
			CreateTime: record.CreateTime, CreatedBy: record.CreatedBy,
			UpdateTime: record.UpdateTime, UpdatedBy: record.UpdatedBy,
		},
	}
	if record.Freeze.Covers(now) {
		d.Freeze = record.Freeze
	}
	return d
}

// maxSchedules returns how many schedules a namespace may have.
func maxSchedules(limits *schedule.NamespaceLimits) int {
	return cmp.Or(limits.MaxSchedules, schedule.DefaultMaxSchedules)
}

func errNamespaceExists(name string) error {
	return schedule.Errorf(schedule.CodeAlreadyExists, "there is a namespace %q already", name)
}

func errDeleting(name string) error {
	return schedule.Errorf(schedule.CodeFailedPrecondition,
		"namespace %q is being deleted: it takes no changes, and can be created anew when it is gone", name)
}

func errNotEmpty(name string, schedules, executions int) error {
	return &schedule.Error{
		Code: schedule.CodeFailedPrecondition, Field: "force",
		Message: fmt.Sprintf("namespace %q is not empty (schedules: %d, workflow IDs: %d): delete what is in it first, or with force along with it",
			name, schedules, executions),
	}
}
