package schedule

import (
	"cmp"
	"time"
)

// The requests about a namespace name it in their subject, not in their body.

// CreateNamespaceRequest creates a namespace. Its reply is a NamespaceDescription.
type CreateNamespaceRequest struct {
	// Description is for people: text of at most [MaxDescription] bytes.
	Description string          `json:"description,omitempty"`
	Limits      NamespaceLimits `json:"limits,omitzero"`
	// RequestID makes the request idempotent until another request changes the namespace.
	RequestID string `json:"requestId,omitempty"`
}

// UpdateNamespaceRequest replaces the description and all limits of a namespace. Its reply is a NamespaceDescription.
type UpdateNamespaceRequest struct {
	Description string          `json:"description,omitempty"`
	Limits      NamespaceLimits `json:"limits,omitzero"`
	// ConflictToken is the token of the NamespaceDescription that the caller has read. If the namespace has changed since, the request is
	// refused with CodeFailedPrecondition. Zero replaces any version.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// DescribeNamespaceRequest asks for a NamespaceDescription.
type DescribeNamespaceRequest struct{}

// ListNamespacesRequest asks for the namespaces of the installation, by name. Its subject names no namespace.
type ListNamespacesRequest struct {
	// PageSize is at most 1,000; 0 means 100.
	PageSize int `json:"pageSize,omitempty"`
	// PageToken continues where an earlier reply ended.
	PageToken string `json:"pageToken,omitempty"`
}

// ListNamespacesReply is one page, ordered by name. It omits the usage.
type ListNamespacesReply struct {
	Namespaces []NamespaceDescription `json:"namespaces"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// DeleteNamespaceRequest deletes a namespace. Its reply is a NamespaceDescription. From now on, the namespace answers only reads. It is
// gone some seconds later, or when its last schedule has been deleted.
type DeleteNamespaceRequest struct {
	// Force also deletes all schedules of the namespace. Without it, the request is refused if there are any.
	Force bool `json:"force,omitempty"`
	// Runs says what becomes of the runs of its schedules; empty means [RunsWithdraw]. [RunsLeave] is refused: if somebody created a
	// namespace of the same name, queued runs would begin in it.
	Runs RunsPolicy `json:"runs,omitempty"`
	// ConflictToken is as in UpdateNamespaceRequest.
	ConflictToken uint64 `json:"conflictToken,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// FreezeNamespaceRequest stops the automated actions of a namespace; see [Freeze]. If the namespace is frozen already, the new reason and
// end replace the old ones. Its reply is a NamespaceDescription.
type FreezeNamespaceRequest struct {
	// Reason is for people: text of 1 to [MaxFreezeReason] bytes.
	Reason string `json:"reason"`
	// Until is when the freeze ends by itself; For is the same as a duration from now. At most one of them is set. With neither, the freeze
	// lasts until it is lifted.
	Until time.Time `json:"until,omitzero"`
	For   Duration  `json:"for,omitempty"`
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// UnfreezeNamespaceRequest lets the automated actions of a namespace start again. If the namespace is not frozen, nothing changes. Its
// reply is a NamespaceDescription.
type UnfreezeNamespaceRequest struct {
	// RequestID is as in CreateNamespaceRequest.
	RequestID string `json:"requestId,omitempty"`
}

// NamespaceDescription is a namespace and what is known about it.
type NamespaceDescription struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Limits are the limits as they were set; a limit that was not set is zero.
	Limits NamespaceLimits `json:"limits"`
	// Freeze is nil if automated actions may start.
	Freeze *Freeze `json:"freeze,omitempty"`
	// Deleting says that the namespace is being deleted.
	Deleting bool          `json:"deleting,omitempty"`
	Info     NamespaceInfo `json:"info"`
	// ConflictToken names this version of the namespace.
	ConflictToken uint64 `json:"conflictToken"`
}

// NamespaceInfo is what is known about a namespace besides its settings. Identities are what the callers said about themselves.
type NamespaceInfo struct {
	CreateTime time.Time `json:"createTime,omitzero"`
	CreatedBy  string    `json:"createdBy,omitempty"`
	UpdateTime time.Time `json:"updateTime,omitzero"`
	UpdatedBy  string    `json:"updatedBy,omitempty"`
	// Usage is only in the answer to describe.
	Usage *NamespaceUsage `json:"usage,omitempty"`
}

// NamespaceUsage says how much of its limits a namespace uses.
type NamespaceUsage struct {
	// Schedules is how many there are.
	Schedules int `json:"schedules"`
	// PendingRuns is how many runs are queued for workers or in progress.
	PendingRuns int `json:"pendingRuns"`
	// RequestsPerSecond is how many requests were accepted in the last seconds, over all frontends.
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// RequestsRefused is how many requests the request limit refused. Each frontend counts since its start; Frontends is how many frontends
	// were counted.
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

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. It does not check that list issued the page
// token; list does.
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

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does. It does not check that the end is in the future;
// the frontend does.
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
