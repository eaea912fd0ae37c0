package schedule

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// The bounds of a [Namespace]'s description and of a [Freeze]'s reason, in bytes.
const (
	MaxDescription  = 1024
	MaxFreezeReason = 255
)

// DefaultMaxSchedules is how many schedules a namespace may have if its limits do not say (docs/semantics.md §10).
const DefaultMaxSchedules = 1_000_000

// The limits of what Temporal's clients ask each gateway for, if those of a namespace do not say. They are for namespaces that run away, and
// more than a gateway does on a few cores.
const (
	DefaultWorkflowRequestsPerSecond = 10_000
	DefaultWorkflowListsPerSecond    = 500
	DefaultMaxWorkflowPolls          = 10_000
)

// The bounds of [NamespaceLimits.EventRetention].
const (
	MinEventRetention = time.Hour
	MaxEventRetention = 30 * 24 * time.Hour
)

// The bounds of [NamespaceLimits.WorkflowRetention], and what it is if a namespace does not say.
const (
	MinWorkflowRetention     = time.Hour
	MaxWorkflowRetention     = 36500 * 24 * time.Hour
	DefaultWorkflowRetention = 72 * time.Hour
)

// Namespace is the stored namespace: a record of the cluster's bucket, which all programs watch.
type Namespace struct {
	Name string `json:"name"`
	// Description is for people: text of at most [MaxDescription] bytes.
	Description string          `json:"description,omitempty"`
	Limits      NamespaceLimits `json:"limits,omitzero"`
	// Freeze is the newest freeze, whether it is in effect or over: actions that were due during it never start. Nil means that there was
	// none.
	Freeze *Freeze `json:"freeze,omitempty"`
	// Version counts the writes of this record from 1; it is the conflict token of the API.
	Version uint64 `json:"version,omitempty"`
	// CreatedBy and UpdatedBy are who asked for the first version and for this version, as far as that is known.
	CreateTime time.Time `json:"createTime,omitzero"`
	CreatedBy  string    `json:"createdBy,omitempty"`
	UpdateTime time.Time `json:"updateTime,omitzero"`
	UpdatedBy  string    `json:"updatedBy,omitempty"`
	// RequestID is the idempotency key of the request that wrote this version.
	RequestID string `json:"requestId,omitempty"`
	// Deleting says that the namespace and all its schedules are being deleted; only reads are accepted.
	Deleting bool `json:"deleting,omitempty"`
	// Unreadable says that the stored record cannot be read: its values are older ones, or those of a namespace without any. Nothing may be removed because
	// of them. It is never stored.
	Unreadable bool `json:"-"`
}

// NamespaceLimits bound how much of the cluster one namespace uses. Zero means no limit, unless a field says otherwise.
type NamespaceLimits struct {
	// RequestsPerSecond is how many API requests are accepted per second, over all frontends. RequestBurst is how many may come at once
	// before the rate applies; zero means as many as in one second. Further requests are refused with [CodeResourceExhausted] and the time
	// to wait.
	RequestsPerSecond float64 `json:"requestsPerSecond,omitempty"`
	RequestBurst      int     `json:"requestBurst,omitempty"`
	// ActionsPerSecond is how many runs start per second, over all schedules. Further runs start later; the schedules take turns.
	ActionsPerSecond float64 `json:"actionsPerSecond,omitempty"`
	// MaxSchedules is how many schedules there may be; zero means [DefaultMaxSchedules].
	MaxSchedules int `json:"maxSchedules,omitempty"`
	// MaxScheduleBytes bounds the size of a stored schedule with the input of its action, and the size of a trigger with its replacements.
	// Zero means the size limit of a NATS message. Together with MaxSchedules, it bounds what the namespace stores.
	MaxScheduleBytes int `json:"maxScheduleBytes,omitempty"`
	// MaxPendingRuns is how many runs may be queued for workers or in progress. Further runs wait in their schedules.
	MaxPendingRuns int `json:"maxPendingRuns,omitempty"`
	// WorkflowRequestsPerSecond is how many requests of Temporal's clients each gateway accepts per second; zero means
	// [DefaultWorkflowRequestsPerSecond]. WorkflowListsPerSecond is the same for lists and counts of executions and schedules, which are
	// not among the others; zero means [DefaultWorkflowListsPerSecond].
	WorkflowRequestsPerSecond float64 `json:"workflowRequestsPerSecond,omitempty"`
	WorkflowListsPerSecond    float64 `json:"workflowListsPerSecond,omitempty"`
	// MaxWorkflowPolls is how many polls of workers may wait at each gateway, and how many other requests of Temporal's clients beside them:
	// queries, and those that wait for the end of an execution. Zero means [DefaultMaxWorkflowPolls].
	MaxWorkflowPolls int `json:"maxWorkflowPolls,omitempty"`
	// EventRetention is how long events are kept, from [MinEventRetention] to [MaxEventRetention]; zero means the maximum.
	EventRetention Duration `json:"eventRetention,omitempty"`
	// WorkflowRetention is how long a run of a workflow is kept after its end, from [MinWorkflowRetention] to [MaxWorkflowRetention]; zero means
	// [DefaultWorkflowRetention]. A change counts for runs that have ended already, too.
	WorkflowRetention Duration `json:"workflowRetention,omitempty"`
	// Archive is the URL of the bucket in which runs of workflows are archived before they are removed, of at most [MaxArchive] bytes: its scheme is one
	// of [ArchiveSchemes]. Empty means that they are not archived. "jetstream://" is the bucket of the installation itself.
	Archive string `json:"archive,omitempty"`
}

// MaxArchive bounds [NamespaceLimits.Archive], in bytes.
const MaxArchive = 1024

// ArchiveSchemes are the schemes of the URLs that [NamespaceLimits.Archive] may have.
func ArchiveSchemes() []string { return []string{"jetstream", "file", "s3", "azblob", "gs"} }

// KeepsRuns returns how long a run of a workflow is kept after its end.
func (l NamespaceLimits) KeepsRuns() time.Duration {
	if l.WorkflowRetention == 0 {
		return DefaultWorkflowRetention
	}
	return l.WorkflowRetention.Std()
}

// Freeze keeps the automated actions of a namespace from starting, as if each of its schedules were paused. Triggers and backfills still
// start.
type Freeze struct {
	// Reason is for people: text of 1 to [MaxFreezeReason] bytes. By is who asked for the freeze.
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`
	// From is when the freeze began, inclusive. Until is when it ends by itself, exclusive; zero means that it does not end by itself.
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
}

// Covers reports whether the freeze is in effect at t. A nil freeze never is.
func (f *Freeze) Covers(t time.Time) bool {
	return f != nil && !t.Before(f.From) && (f.Until.IsZero() || t.Before(f.Until))
}

// DropReason says, for people, why an action was dropped because of the freeze.
func (f *Freeze) DropReason() string { return FrozenReason + f.Reason }

// FrozenReason is the beginning of the Reason of an EventDropped that a freeze caused.
const FrozenReason = "namespace frozen: "

// Validate reports the first limit that can never work, as an *Error with a path such as "requestBurst".
func (l NamespaceLimits) Validate() error {
	for _, rate := range []struct {
		field string
		value float64
	}{{"requestsPerSecond", l.RequestsPerSecond}, {"actionsPerSecond", l.ActionsPerSecond},
		{"workflowRequestsPerSecond", l.WorkflowRequestsPerSecond}, {"workflowListsPerSecond", l.WorkflowListsPerSecond}} {
		if math.IsNaN(rate.value) || math.IsInf(rate.value, 0) || rate.value < 0 || rate.value > maxRate {
			return Invalid(rate.field, "%v must be a number from 0 to %v; 0 means the default", rate.value, maxRate)
		}
	}
	for _, count := range []struct {
		field string
		value int
	}{{"requestBurst", l.RequestBurst}, {"maxSchedules", l.MaxSchedules}, {"maxScheduleBytes", l.MaxScheduleBytes},
		{"maxPendingRuns", l.MaxPendingRuns}, {"maxWorkflowPolls", l.MaxWorkflowPolls}} {
		if count.value < 0 || count.value > maxCount {
			return Invalid(count.field, "%d must be 0 to %d", count.value, maxCount)
		}
	}
	if keep := time.Duration(l.EventRetention); keep != 0 && (keep < MinEventRetention || keep > MaxEventRetention) {
		return Invalid("eventRetention", "%s must be %s to %s, or 0 for the latter", keep, MinEventRetention, MaxEventRetention)
	}
	if keep := l.WorkflowRetention.Std(); keep != 0 && (keep < MinWorkflowRetention || keep > MaxWorkflowRetention) {
		return Invalid("workflowRetention", "%s must be %s to %s, or 0 for %s", keep, MinWorkflowRetention, MaxWorkflowRetention, DefaultWorkflowRetention)
	}
	return validateArchive(l.Archive)
}

// validateArchive checks the URL of a bucket.
func validateArchive(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > MaxArchive:
		return Invalid("archive", "has %d bytes: use %d at most", len(text), MaxArchive)
	case err != nil || !slices.Contains(ArchiveSchemes(), u.Scheme):
		return Invalid("archive", "%q is not the URL of a bucket: use one that begins with %s://", jsontext.Shorten(text), strings.Join(ArchiveSchemes(), "://, "))
	case u.Scheme != "file" && u.Scheme != "jetstream" && u.Host == "":
		return Invalid("archive", "%q names no bucket: use %s://NAME", jsontext.Shorten(text), u.Scheme)
	case u.Fragment != "", u.RawQuery != "" && (u.Scheme == "file" || u.Scheme == "jetstream"):
		return Invalid("archive", "%q must have nothing behind the bucket", jsontext.Shorten(text))
	case u.User != nil:
		return Invalid("archive", "must have no password: the credentials are those of the processes that archive")
	case u.Scheme == "file" && (u.Host != "" || !strings.HasPrefix(u.Path, "/")):
		return Invalid("archive", "%q names no folder: use file:///PATH", jsontext.Shorten(text))
	case u.Scheme == "jetstream" && (u.Path != "" || strings.Trim(u.Host, bucketCharacters) != ""):
		return Invalid("archive", "%q names no bucket: use jetstream://NAME with letters, digits, - and _, or jetstream://", jsontext.Shorten(text))
	}
	return nil
}

// bucketCharacters may be in the name of a bucket of JetStream.
const bucketCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

const (
	maxRate  = 1_000_000
	maxCount = 100_000_000
)
