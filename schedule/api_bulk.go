package schedule

import (
	"cmp"
	"time"
)

// Limits of bulk operations.
const (
	// MaxBulkIDs is how many schedules a bulk operation may name one by one.
	MaxBulkIDs = 1000
	// MaxBulkRate is the highest rate of a bulk operation, in schedules per second. DefaultBulkRate is the rate if the request gives none.
	MaxBulkRate     = 10_000
	DefaultBulkRate = 100
	// MaxBulkPreview is how many IDs the answer to a dry run lists.
	MaxBulkPreview = 20
	// MaxActiveBulk is how many bulk operations of a namespace may run at once.
	MaxActiveBulk = 20
	// MaxBulkQueryBytes bounds the query of a bulk operation.
	MaxBulkQueryBytes = 8 << 10
)

// BulkOperation is what a bulk operation does to each of its schedules.
type BulkOperation string

// The bulk operations. Each does what the request of the same name does to one schedule.
const (
	BulkPause   BulkOperation = "pause"
	BulkUnpause BulkOperation = "unpause"
	BulkTrigger BulkOperation = "trigger"
	BulkDelete  BulkOperation = "delete"
	// BulkSetLabel sets or removes one entry of the action's memo and leaves everything else unchanged.
	BulkSetLabel BulkOperation = "setLabel"
)

// BulkOperations returns all operations.
func BulkOperations() []BulkOperation {
	return []BulkOperation{BulkPause, BulkUnpause, BulkTrigger, BulkDelete, BulkSetLabel}
}

// Selection says which schedules of a namespace are meant. Exactly one of its fields is set. An empty Selection is an error; to select all
// schedules, set All.
type Selection struct {
	// Query selects the schedules that match it (docs/search.md).
	Query string `json:"query,omitempty"`
	// Prefix selects the schedules whose ID begins with it.
	Prefix string `json:"prefix,omitempty"`
	// IDs names the schedules, at most [MaxBulkIDs].
	IDs []string `json:"ids,omitempty"`
	// All means every schedule of the namespace.
	All bool `json:"all,omitempty"`
}

// Label is an entry of an action's memo whose value is a string.
type Label struct {
	Name string `json:"name"`
	// Value is the new value; null removes the entry.
	Value *string `json:"value"`
}

// BulkTask says what to do to which schedules.
type BulkTask struct {
	Operation BulkOperation `json:"operation"`
	// Selection is inlined: query, prefix, ids, all.
	Selection
	// Note says why. It is for pause, unpause and trigger and means the same as in their requests.
	Note string `json:"note,omitempty"`
	// Overlap is for trigger: it replaces the overlap policy of each schedule for the requested start.
	Overlap OverlapPolicy `json:"overlap,omitempty"`
	// Label is what setLabel sets or removes.
	Label *Label `json:"label,omitempty"`
	// Runs is for delete: it says what becomes of the runs of each schedule, as in [DeleteRequest].
	Runs RunsPolicy `json:"runs,omitempty"`
}

// StartBulkRequest starts a bulk operation, which continues in the background. Its reply is a StartBulkReply.
type StartBulkRequest struct {
	// BulkTask is inlined: operation, query, prefix, ids, all, note, overlap, label, runs.
	BulkTask
	// Rate is how many schedules are processed per second, at most [MaxBulkRate]; 0 means [DefaultBulkRate].
	Rate int `json:"rate,omitempty"`
	// DryRun changes nothing. The answer says which schedules the operation would process.
	DryRun bool `json:"dryRun,omitempty"`
	// RequestID makes the request idempotent: a repeat returns the operation that the first request started.
	RequestID string `json:"requestId,omitempty"`
}

// StartBulkReply names the bulk operation.
type StartBulkReply struct {
	// JobID is empty for a dry run.
	JobID string `json:"jobId,omitempty"`
	// Count is how many schedules are selected now. The operation acts on each schedule as it is when its turn comes.
	Count int `json:"count"`
	// IDs are the first selected schedules, at most [MaxBulkPreview]. Only a dry run returns them.
	IDs []string `json:"ids,omitempty"`
}

// BulkStatus is the status of a bulk operation.
type BulkStatus string

// The statuses of a bulk operation.
const (
	BulkRunning BulkStatus = "running"
	// BulkDone: every schedule has been processed; some may have failed.
	BulkDone     BulkStatus = "done"
	BulkCanceled BulkStatus = "canceled"
	// BulkFailed: the operation could not continue; Error says why.
	BulkFailed BulkStatus = "failed"
)

// BulkDescription is a bulk operation and its progress.
type BulkDescription struct {
	JobID string `json:"jobId"`
	// BulkTask is inlined, as in StartBulkRequest.
	BulkTask
	Rate       int       `json:"rate"`
	Identity   string    `json:"identity,omitempty"`
	CreateTime time.Time `json:"createTime"`
	// StartTime is when work on it began, EndTime when it ended. Each is zero until then.
	StartTime time.Time  `json:"startTime,omitzero"`
	EndTime   time.Time  `json:"endTime,omitzero"`
	Status    BulkStatus `json:"status"`
	// Total is how many schedules were selected when the operation started.
	Total int `json:"total"`
	// Done, Skipped and Failed count the processed schedules. Skipped counts those where there was nothing to do.
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Cursor is, approximately, the last ID that was processed.
	Cursor string `json:"cursor,omitempty"`
	// Failures are the newest failures, at most 100, oldest first. The event history has all of them.
	Failures   []BulkFailure `json:"failures,omitempty"`
	CanceledBy string        `json:"canceledBy,omitempty"`
	Error      string        `json:"error,omitempty"`
}

// Ended reports whether the operation is over.
func (d *BulkDescription) Ended() bool { return d.Status != BulkRunning }

// BulkFailure is a schedule that the operation could not process.
type BulkFailure struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// BulkRequest names a bulk operation: the request of describe and cancel.
type BulkRequest struct {
	JobID string `json:"jobId"`
}

// ListBulkRequest lists the bulk operations of a namespace, newest first. Ended operations are kept for seven days.
type ListBulkRequest struct {
	// PageSize is at most [MaxPageSize]; 0 means 100. PageToken continues where an earlier reply ended.
	PageSize  int    `json:"pageSize,omitempty"`
	PageToken string `json:"pageToken,omitempty"`
}

// ListBulkReply is one page. Its descriptions omit the failures and the selected IDs.
type ListBulkReply struct {
	Operations []BulkDescription `json:"operations"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Validate reports the first thing in s that can never work, as [Schedule.Validate] does. It does not parse the query; the frontend does.
func (s Selection) Validate() error {
	given := 0
	for _, is := range []bool{s.Query != "", s.Prefix != "", len(s.IDs) > 0, s.All} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return Invalid("query", "is missing: say which schedules are meant by query, prefix or ids, "+
			"or all of them by \"all\": true")
	case given > 1:
		return Invalid("query", "query, prefix, ids and all do not go together: use one of them")
	}
	return cmp.Or(
		validateText("query", s.Query, MaxBulkQueryBytes),
		validateOptionalID("prefix", s.Prefix),
		validateEach("ids", s.IDs, MaxBulkIDs, func(id string) error { return ValidateID("", id) }),
	)
}

// Validate reports the first thing in l that can never work, as [Schedule.Validate] does, with a path relative to l.
func (l Label) Validate() error {
	if l.Value == nil {
		return ValidateID("name", l.Name)
	}
	return cmp.Or(ValidateID("name", l.Name), validateText("value", *l.Value, MaxNoteBytes))
}

// Validate reports the first thing in t that can never work, as [Schedule.Validate] does, with a path relative to t.
func (t BulkTask) Validate() error {
	if t.Operation == "" {
		return Invalid("operation", "is missing: use pause, unpause, trigger, delete or setLabel")
	}
	return cmp.Or(
		oneOf("operation", "a bulk operation", t.Operation, BulkOperations()...),
		t.Selection.Validate(),
		t.validateNote(),
		t.validateOverlap(),
		t.validateLabel(),
		t.validateRuns(),
	)
}

func (t BulkTask) validateRuns() error {
	if t.Runs != "" && t.Operation != BulkDelete {
		return Invalid("runs", "does not go together with %s: use it with delete", t.Operation)
	}
	return validateRuns(t.Runs, RunsPolicies()...)
}

func (t BulkTask) validateNote() error {
	if t.Note != "" && (t.Operation == BulkDelete || t.Operation == BulkSetLabel) {
		return Invalid("note", "does not go together with %s: use it with pause, unpause or trigger", t.Operation)
	}
	return validateNote("note", t.Note)
}

func (t BulkTask) validateOverlap() error {
	if t.Overlap != "" && t.Operation != BulkTrigger {
		return Invalid("overlap", "does not go together with %s: use it with trigger", t.Operation)
	}
	return t.Overlap.validate("overlap")
}

func (t BulkTask) validateLabel() error {
	switch {
	case t.Operation == BulkSetLabel && t.Label == nil:
		return Invalid("label", "is missing: say which one by {\"name\": …, \"value\": …}, with null for the value to remove it")
	case t.Operation != BulkSetLabel && t.Label != nil:
		return Invalid("label", "does not go together with %s: use it with setLabel", t.Operation)
	}
	return validateIf("label", t.Label)
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r StartBulkRequest) Validate() error {
	if r.Rate < 0 || r.Rate > MaxBulkRate {
		return Invalid("rate", "%d is out of range: use 1 to %d a second, or 0 for the default", r.Rate, MaxBulkRate)
	}
	return cmp.Or(r.BulkTask.Validate(), validateOptionalID("requestId", r.RequestID))
}

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r BulkRequest) Validate() error { return ValidateID("jobId", r.JobID) }

// Validate reports the first thing in r that can never work, as [Schedule.Validate] does.
func (r ListBulkRequest) Validate() error {
	return cmp.Or(
		validatePageSize("pageSize", r.PageSize),
		validateText("pageToken", r.PageToken, MaxPageTokenBytes),
	)
}
