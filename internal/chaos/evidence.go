package chaos

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// evidence is everything that is known about a run at its end.
type evidence struct {
	Namespace string
	// Now is when it was gathered.
	Now time.Time
	// Requests are the requests to the API, in the order in which they were sent.
	Requests []request
	// Events are the event history, in the order of the stream, each once.
	Events []schedule.Event
	// Ledger is what the code of the actions noted, in the order of time for each life.
	Ledger []note
	// Lives are the lives of the processes, by [Note.Life].
	Lives map[string]life
	// Outages are when a fault of NATS was in effect.
	Outages []period
	// Schedules are what describe shows at the end.
	Schedules map[string]schedule.Description
	// Workflows are those of the load, in the order of their starts.
	Workflows []travelled
}

// request is a request to the API and its outcome.
type request struct {
	operation
	// Sent is when it was first sent. Answered is when it was acknowledged, zero if it never was.
	Sent, Answered time.Time
	// Refused is the error of a request that was understood and refused.
	Refused string
	// Source is the ID of a trigger or backfill. Since is the create time or the update time of the schedule afterwards.
	Source string
	Since  time.Time
}

// Acknowledged reports whether the request has been accepted.
func (r *request) Acknowledged() bool { return !r.Answered.IsZero() && r.Refused == "" }

// note is what the code of an action notes when it begins and when it ends.
type note struct {
	// Life names the life of the worker process.
	Life string    `json:"-"`
	At   time.Time `json:"at"`
	// End tells the end from the beginning. Cause is why the code ended before its time, empty if it did not.
	End        bool      `json:"end,omitempty"`
	Cause      string    `json:"cause,omitempty"`
	ScheduleID string    `json:"schedule_id"`
	RequestID  string    `json:"request_id"`
	Nominal    time.Time `json:"nominal"`
	Attempt    int       `json:"attempt"`
}

// life is one life of a process, from its start to its end.
type life struct {
	Process string `json:"process"`
	Number  int    `json:"number"`
	period
	// Suspended are the periods in which it was suspended.
	Suspended []period `json:"suspended,omitempty"`
}

// period is a stretch of time. A zero To means that it has not ended.
type period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// overlaps reports whether the period has a moment in common with the time from one instant to another.
func (p period) overlaps(from, to time.Time) bool {
	return !p.From.After(to) && (p.To.IsZero() || !p.To.Before(from))
}
