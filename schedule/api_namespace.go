package schedule

import (
	"cmp"
	"time"
)

// The requests about a namespace name it in their subject, and not in their body.

// CreateNamespaceRequest creates a namespace. Its reply is a NamespaceDescription.
type CreateNamespaceRequest struct {
	// Description is for people: text of at most [MaxDescription] bytes.
	Description string          `json:"description,omitempty"`
	Limits      NamespaceLimits `json:"limits,omitzero"`
	// RequestID makes the request idempotent, for as long as no other request has changed the namespace.
	RequestID string `json:"requestId,omitempty"`
}

// UpdateNamespaceRequest replaces the description and all limits of a namespace. Its reply is a NamespaceDescription.
type UpdateNamespaceRequest struct {
	Description string          `json:"description,omitempty"`
	Limits      NamespaceLimits `json:"limits,omitzero"`
	// ConflictToken is that of the NamespaceDescription which the change was made from: if the namespace has been changed
	// since, the request is refused with CodeFailedPrecondition. Zero means whatever there is.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// DescribeNamespaceRequest asks for a NamespaceDescription.
type DescribeNamespaceRequest struct{}

// ListNamespacesRequest asks for the namespaces of the installation, by name. Its subject names none.
type ListNamespacesRequest struct {
	// PageSize is at most 1,000; 0 means 100.
	PageSize int `json:"pageSize,omitempty"`
	// PageToken continues where an earlier reply ended.
	PageToken string `json:"pageToken,omitempty"`
}

// ListNamespacesReply is one page, ordered by name. The usage is left out.
type ListNamespacesReply struct {
	Namespaces []NamespaceDescription `json:"namespaces"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// DeleteNamespaceRequest deletes a namespace. Its reply is a NamespaceDescription: the namespace answers nothing but reads
// from now on, and is gone some seconds later, or when its last schedule has been deleted.
type DeleteNamespaceRequest struct {
	// Force deletes all its schedules with it. Without it a namespace that has any is refused.
	Force bool `json:"force,omitempty"`
	// Runs says what becomes of the runs of its schedules; empty means [RunsWithdraw]. [RunsLeave] is refused: a queued run
	// would begin in the namespace of this name that somebody makes next.
	Runs RunsPolicy `json:"runs,omitempty"`
	// ConflictToken is as in UpdateNamespaceRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// FreezeNamespaceRequest stops the automated actions of a namespace; see [Freeze]. One that is frozen already gets the
// new reason and end. Its reply is a NamespaceDescription.
type FreezeNamespaceRequest struct {
	// Reason is for people: text of 1 to [MaxFreezeReason] bytes.
	Reason string `json:"reason"`
	// Until is when the freeze ends by itself, and For the same as the time from now; at most one of them is set. With
	// neither it lasts until it is lifted.
	Until time.Time `json:"until,omitzero"`
	For   Duration  `json:"for,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// UnfreezeNamespaceRequest lets the automated actions of a namespace start again. Of one that is not frozen it changes
// nothing. Its reply is a NamespaceDescription.
type UnfreezeNamespaceRequest struct {
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// NamespaceDescription is a namespace and what is known of it.
type NamespaceDescription struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Limits are as they were set, zero where nothing was.
	Limits NamespaceLimits `json:"limits"`
	// Freeze is nil where automated actions start.
	Freeze *Freeze `json:"freeze,omitempty"`
	// Deleting says that the namespace is on its way out.
	Deleting bool          `json:"deleting,omitempty"`
	Info     NamespaceInfo `json:"info"`
	// ConflictToken names this version of the namespace.
	ConflictToken uint64 `json:"conflictToken"`
}

// NamespaceInfo is what is known of a namespace beside what was set. Who did something is what he said of himself.
type NamespaceInfo struct {
	CreateTime time.Time `json:"createTime,omitzero"`
	CreatedBy  string    `json:"createdBy,omitempty"`
	UpdateTime time.Time `json:"updateTime,omitzero"`
	UpdatedBy  string    `json:"updatedBy,omitempty"`
	// Usage is what describe adds.
	Usage *NamespaceUsage `json:"usage,omitempty"`
}

// NamespaceUsage is what a namespace makes of its limits.
type NamespaceUsage struct {
	// Schedules is how many there are.
	Schedules int `json:"schedules"`
	// PendingRuns is how many runs are queued for workers or in progress.
	PendingRuns int `json:"pendingRuns"`
	// RequestsPerSecond is how many requests were accepted in the last seconds, over all frontends.
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// RequestsRefused is how many were refused by the limit of requests, counted by each frontend since it was started, and
	// Frontends how many frontends that is.
	RequestsRefused uint64 `json:"requestsRefused"`
	Frontends       int    `json:"frontends"`
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r CreateNamespaceRequest) Validate() error {
	return validateNamespaceRequest(r.Description, r.Limits, r.RequestID)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r UpdateNamespaceRequest) Validate() error {
	return validateNamespaceRequest(r.Description, r.Limits, r.RequestID)
}

func validateNamespaceRequest(description string, limits NamespaceLimits, requestID string) error {
	return cmp.Or(
		validateText("description", description, MaxDescription),
		Prefix("limits", limits.Validate()),
		validateOptionalID("requestId", requestID),
	)
}

// Validate always succeeds.
func (DescribeNamespaceRequest) Validate() error { return nil }

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. Whether the page token is one
// that list has handed out is for list to find out.
func (r ListNamespacesRequest) Validate() error {
	return cmp.Or(
		validatePageSize("pageSize", r.PageSize),
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r DeleteNamespaceRequest) Validate() error {
	return cmp.Or(
		validateRuns(r.Runs, RunsWithdraw, RunsCancel, RunsTerminate), validateOptionalID("requestId", r.RequestID),
	)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. Whether the end is to come is
// for the frontend to find out.
func (r FreezeNamespaceRequest) Validate() error {
	return cmp.Or(
		validateReason(r.Reason),
		r.validateEnd(),
		validateOptionalID("requestId", r.RequestID),
	)
}

func validateReason(reason string) error {
	if reason == "" {
		return Invalid("reason", "is missing: say why nothing is to start, in at most %d bytes", MaxFreezeReason)
	}
	return validateText("reason", reason, MaxFreezeReason)
}

func (r FreezeNamespaceRequest) validateEnd() error {
	switch {
	case r.For < 0:
		return Invalid("for", "%s is negative: use how long the freeze is to last", r.For)
	case r.For != 0 && !r.Until.IsZero():
		return Invalid("for", "does not go together with until: use one of them")
	}
	return nil
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r UnfreezeNamespaceRequest) Validate() error {
	return validateOptionalID("requestId", r.RequestID)
}
